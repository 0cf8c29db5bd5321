/** Selects the runs to compare with. */
import { useEffect, useRef, useState } from "react"
import type * as Wire from "../source/Wire.ts"
import * as Format from "../ui/Format.ts"
import { Icon } from "../ui/Icon.tsx"
import { Swatch } from "../chart/Legend.tsx"

interface RunPickerProps {
  readonly run: string
  readonly others: ReadonlyArray<string>
  readonly runs: ReadonlyArray<Wire.Run>
  readonly colors: ReadonlyMap<string, string>
  readonly onChange: (others: ReadonlyArray<string>) => void
}

/** Number of names from which a search field is shown. */
const searchedFrom = 8

export const RunPicker = ({ colors, onChange, others, run, runs }: RunPickerProps) => {
  const [isOpen, setIsOpen] = useState(false)
  const [search, setSearch] = useState("")
  const menu = useRef<HTMLDetailsElement>(null)
  const summary = useRef<HTMLElement>(null)
  useEffect(() => {
    if (!isOpen) return
    const close = ({ target }: Event) => {
      if (target instanceof Node && menu.current?.contains(target) === false) setIsOpen(false)
    }
    const escape = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return
      // The page's own Escape resets the zoom.
      event.preventDefault()
      setIsOpen(false)
      summary.current?.focus()
    }
    document.addEventListener("click", close)
    document.addEventListener("keydown", escape)
    return () => {
      document.removeEventListener("click", close)
      document.removeEventListener("keydown", escape)
    }
  }, [isOpen])
  const choices = runs.filter(({ name }) => name !== run)
  if (choices.length === 0) return null
  const visible = choices.filter(({ name }) => name.toLowerCase().includes(search.trim().toLowerCase()))
  const toggle = (name: string) =>
    onChange(others.includes(name) ? others.filter((other) => other !== name) : [...others, name])
  // A run just selected has none yet.
  const colorOf = (name: string) => colors.get(name) ?? "transparent"
  return (
    <div className="run-picker">
      <details
        className="menu"
        ref={menu}
        open={isOpen}
        onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}
      >
        <summary className="button" ref={summary}>
          Compare runs
        </summary>
        <div className="menu-body">
          {choices.length > searchedFrom && (
            <input
              type="search"
              aria-label="Search runs"
              placeholder="Search runs"
              value={search}
              onChange={(event) => setSearch(event.target.value)}
            />
          )}
          <ul>
            {visible.map(({ current_step, name }) => (
              <li key={name}>
                <label>
                  <input type="checkbox" checked={others.includes(name)} onChange={() => toggle(name)} />
                  <span>{name}</span>
                  <span className="muted number">step {Format.count(current_step)}</span>
                </label>
              </li>
            ))}
          </ul>
          {visible.length === 0 && <p className="muted">No run matches “{search}”.</p>}
        </div>
      </details>
      {others.length > 0 && (
        <ul className="chips" aria-label="Compared runs">
          <li className="chip">
            <Swatch color={colorOf(run)} />
            {run}
          </li>
          {others.map((name) => (
            <li key={name} className="chip">
              <Swatch color={colorOf(name)} />
              {name}
              <button type="button" className="quiet small" aria-label={`Remove ${name}`} onClick={() => toggle(name)}>
                <Icon name="close" />
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
