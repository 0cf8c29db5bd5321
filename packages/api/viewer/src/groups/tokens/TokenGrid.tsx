/**
 * Renders the tokens of a rollout as coloured text. Only lines in view are rendered; the cursor moves by keyboard and
 * click, and screen readers get each token as a list option.
 */
import { useVirtualizer } from "@tanstack/react-virtual"
import { type CSSProperties, memo, useEffect, useId, useMemo, useRef, useState } from "react"
import { useWidth } from "../../ui/useSize.ts"
import { useShortcuts } from "../../ui/useShortcuts.tsx"
import { type Colouring, notable, strength } from "./Heat.ts"
import { columnsOf, inLine, layOut, type Line, lineOf } from "./Lines.ts"
import { label, next, type Token, type TokenModel } from "./TokenModel.ts"

interface Props {
  readonly model: TokenModel
  readonly colouring: Colouring
  readonly cursor: number
  readonly onCursor: (token: number) => void
  readonly onHover: (token: number | null) => void
}

/** Pixels around a token's text, as in tokens.css. */
const padding = 3
const lineHeight = 26

export const TokenGrid = ({ colouring, cursor, model, onCursor, onHover }: Props) => {
  const id = useId()
  const [scroller, setScroller] = useState<HTMLDivElement | null>(null)
  const width = useWidth(scroller)
  const character = useCharacterWidth(scroller)
  const columns = character === 0 ? 0 : Math.max(8, (width - 40) / character)
  const lines = useMemo(
    () =>
      columns === 0
        ? []
        : layOut(
            model.length,
            columns,
            (index) => columnsOf(label(model.token(index))) + padding / character,
            (index) => model.token(index).text?.includes("\n") ?? false
          ),
    [model, columns, character]
  )
  const virtualizer = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller,
    estimateSize: () => lineHeight,
    scrollPaddingStart: 2 * lineHeight,
    scrollPaddingEnd: 2 * lineHeight,
    overscan: 12
  })
  useEffect(() => {
    // Keeps keyboard navigation working after arriving by keyboard.
    if (document.activeElement === document.body) scroller?.focus({ preventScroll: true })
  }, [scroller])
  const line = lineOf(lines, cursor)
  useEffect(() => {
    if (lines.length > 0) virtualizer.scrollToIndex(line, { align: "auto" })
  }, [virtualizer, line, lines.length])

  const go = (to: number) => {
    onHover(null)
    onCursor(Math.min(model.length - 1, Math.max(0, to)))
  }
  const notables = notable(model, colouring)
  const page = Math.max(1, Math.floor((scroller?.clientHeight ?? 0) / lineHeight) - 1)
  useShortcuts("Tokens", [
    { keys: ["ArrowRight"], label: "next token", run: () => go(cursor + 1) },
    { keys: ["ArrowLeft"], label: "previous token", run: () => go(cursor - 1) },
    { keys: ["ArrowDown"], label: "the token below", run: () => go(inLine(lines, cursor, 1)) },
    { keys: ["ArrowUp"], label: "the token above", run: () => go(inLine(lines, cursor, -1)) },
    { keys: ["PageDown"], label: "a page down", run: () => go(inLine(lines, cursor, page)) },
    { keys: ["PageUp"], label: "a page up", run: () => go(inLine(lines, cursor, -page)) },
    { keys: ["Home"], label: "first token", run: () => go(0) },
    { keys: ["End"], label: "last token", run: () => go(model.length - 1) },
    { keys: ["x"], label: `next ${notables.name}`, run: () => go(next(model, cursor, 1, notables.is) ?? cursor) },
    { keys: ["X"], label: `previous ${notables.name}`, run: () => go(next(model, cursor, -1, notables.is) ?? cursor) }
  ])

  return (
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events -- the keys are shortcuts of the page
    <div
      className={`token-grid colour-${colouring}`}
      ref={setScroller}
      role="listbox"
      tabIndex={0}
      aria-label="Tokens"
      aria-activedescendant={`${id}-${cursor}`}
      onMouseOver={({ target }) => onHover(indexOf(target))}
      onFocus={() => onHover(null)}
      onMouseLeave={() => onHover(null)}
      onClick={({ target }) => {
        const index = indexOf(target)
        if (index !== null) onCursor(index)
      }}
    >
      <div role="presentation" style={{ height: virtualizer.getTotalSize() }}>
        {virtualizer.getVirtualItems().map(({ index, start }) => (
          <TokenLine
            key={index}
            id={id}
            model={model}
            line={lines[index]!}
            start={start}
            colouring={colouring}
            cursor={index === line ? cursor : null}
          />
        ))}
      </div>
    </div>
  )
}

const indexOf = (target: EventTarget): number | null => {
  const index = target instanceof HTMLElement ? target.dataset["index"] : undefined
  return index === undefined ? null : Number(index)
}

const TokenLine = memo(
  ({
    colouring,
    cursor,
    id,
    line,
    model,
    start
  }: {
    readonly id: string
    readonly model: TokenModel
    readonly line: Line
    readonly start: number
    readonly colouring: Colouring
    /** The token in this line that has the cursor. */
    readonly cursor: number | null
  }) => {
    const tokens = Array.from({ length: line.to - line.from }, (_, place) => model.token(line.from + place))
    return (
      <div role="presentation" className="token-line" style={{ transform: `translateY(${start}px)` }}>
        {tokens.map((token) => (
          <span
            key={token.index}
            id={`${id}-${token.index}`}
            role="option"
            aria-selected={token.index === cursor}
            aria-posinset={token.index + 1}
            aria-setsize={model.length}
            data-index={token.index}
            aria-label={blankName(label(token))}
            className={classOf(token)}
            style={styleOf(strength(token, colouring, model))}
          >
            {label(token)}
          </span>
        ))}
      </div>
    )
  }
)

/** Names white space for screen readers. */
const blankName = (text: string): string | undefined =>
  text.trim() === "" ? (text.length === 1 ? "blank" : `${text.length} spaces`) : undefined

const classOf = ({ isTrained, text }: Token): string =>
  `token${isTrained ? " is-trained" : ""}${text === null ? " is-unknown" : ""}`

const styleOf = (strength: number | null): CSSProperties | undefined =>
  strength === null
    ? undefined
    : // React's style type lacks custom properties.
      ({
        "--strength": `${Math.round(Math.abs(strength) * 100)}%`,
        "--tone": strength < 0 ? "var(--low)" : "var(--high)"
      } as CSSProperties)

const useCharacterWidth = (element: HTMLElement | null): number => {
  const [width, setWidth] = useState(0)
  const measured = useRef<HTMLElement | null>(null)
  useEffect(() => {
    if (element === null || measured.current === element) return
    measured.current = element
    const probe = document.createElement("span")
    probe.className = "token"
    probe.style.visibility = "hidden"
    probe.textContent = "0".repeat(100)
    element.append(probe)
    setWidth((probe.getBoundingClientRect().width - padding) / 100)
    probe.remove()
  }, [element])
  return width
}
