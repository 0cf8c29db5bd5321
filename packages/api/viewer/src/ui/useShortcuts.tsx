/**
 * Registers keyboard shortcuts while a page is open. They are ignored if the focused element handles the key, while a
 * dialog is open, and with modifiers; the help (`?`) lists the active ones.
 */
import { createContext, type ReactNode, useContext, useEffect, useEffectEvent, useId, useMemo, useState } from "react"

export interface Shortcut {
  /** Values of `KeyboardEvent.key`, any of which triggers it. */
  readonly keys: ReadonlyArray<string>
  readonly label: string
  readonly run: (event: KeyboardEvent) => void
}

interface Listed {
  readonly scope: string
  readonly entries: ReadonlyArray<Pick<Shortcut, "keys" | "label">>
}

interface Registry {
  readonly listed: ReadonlyMap<string, Listed>
  readonly list: (id: string, listed: Listed) => () => void
}

const RegistryContext = createContext<Registry | null>(null)

export const ShortcutProvider = ({ children }: { readonly children: ReactNode }) => {
  const [listed, setListed] = useState<ReadonlyMap<string, Listed>>(new Map())
  const registry = useMemo(
    () => ({
      listed,
      list: (id: string, entry: Listed) => {
        setListed((listed) => new Map(listed).set(id, entry))
        return () =>
          setListed((listed) => {
            const rest = new Map(listed)
            rest.delete(id)
            return rest
          })
      }
    }),
    [listed]
  )
  return <RegistryContext.Provider value={registry}>{children}</RegistryContext.Provider>
}

const useRegistry = (): Registry => {
  const registry = useContext(RegistryContext)
  if (registry === null) throw new Error("useShortcuts needs a ShortcutProvider")
  return registry
}

export const useListedShortcuts = (): ReadonlyArray<Listed> => [...useRegistry().listed.values()]

const scrolling = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "PageUp", "PageDown", "Home", "End"]

/** True if the focused element handles the key: typing, activation, scrolling. */
const isTaken = ({ altKey, ctrlKey, key, metaKey, target }: KeyboardEvent): boolean => {
  if (altKey || ctrlKey || metaKey || document.querySelector("dialog[open]") !== null) return true
  if (!(target instanceof HTMLElement)) return false
  return (
    target.closest("input, textarea, select, [contenteditable]") !== null ||
    ((key === "Enter" || key === " ") && target.closest("a, button, summary") !== null) ||
    (scrolling.includes(key) && target.closest("pre, [data-scrolls]") !== null)
  )
}

export const useShortcuts = (scope: string, shortcuts: ReadonlyArray<Shortcut>, isEnabled = true): void => {
  const id = useId()
  const { list } = useRegistry()
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (event.defaultPrevented || isTaken(event)) return
    const shortcut = shortcuts.find(({ keys }) => keys.includes(event.key))
    if (shortcut === undefined) return
    event.preventDefault()
    shortcut.run(event)
  })
  useEffect(() => {
    if (!isEnabled) return
    const listener = (event: KeyboardEvent) => onKey(event)
    window.addEventListener("keydown", listener)
    return () => window.removeEventListener("keydown", listener)
  }, [isEnabled])

  const text = JSON.stringify(shortcuts.map(({ keys, label }) => ({ keys, label })))
  useEffect(() => {
    if (!isEnabled) return
    return list(id, { scope, entries: JSON.parse(text) as Listed["entries"] })
    // `list` changes with the listed shortcuts; the entries themselves do not.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [id, scope, text, isEnabled])
}
