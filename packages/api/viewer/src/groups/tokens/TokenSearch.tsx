/** Searches text in a rollout's tokens, across token boundaries, or an id (`#42`). */
import { type KeyboardEvent, useMemo, useRef, useState } from "react"
import { count } from "../../ui/Format.ts"
import { useShortcuts } from "../../ui/useShortcuts.tsx"
import type { TokenModel } from "./TokenModel.ts"

/**
 * Finds a text or a token id in a rollout. Pure.
 * Folds case, unless that changes the length.
 */
const folded = (text: string): string => {
  const lower = text.toLowerCase()
  return lower.length === text.length ? lower : text
}

/** The first tokens of all matches, in order. Matches do not span tokens without text. */
export const find = ({ length, token }: TokenModel, expected: string): ReadonlyArray<number> => {
  if (expected === "") return []
  if (/^#\d+$/.test(expected)) {
    const id = Number(expected.slice(1))
    return Array.from({ length }, (_, index) => index).filter((index) => token(index).id === id)
  }
  const parts: Array<string> = []
  const starts: Array<number> = []
  let at = 0
  for (let index = 0; index < length; index++) {
    const part = folded(token(index).text ?? "\uFFFF")
    starts.push(at)
    parts.push(part)
    at += part.length
  }
  const text = parts.join("")
  const needle = folded(expected)
  const found: Array<number> = []
  let index = 0
  for (let place = text.indexOf(needle); place >= 0; place = text.indexOf(needle, place + 1)) {
    while (index + 1 < length && (starts[index + 1] ?? 0) <= place) index++
    if (found.at(-1) !== index) found.push(index)
  }
  return found
}

interface Props {
  readonly model: TokenModel
  readonly cursor: number
  readonly onCursor: (token: number) => void
}

export const TokenSearch = ({ cursor, model, onCursor }: Props) => {
  const [text, setText] = useState("")
  const field = useRef<HTMLInputElement>(null)
  const found = useMemo(() => find(model, text), [model, text])
  const place = found.findLastIndex((index) => index <= cursor)
  const go = (by: 1 | -1) => {
    const isOn = found[place] === cursor
    const next = by === 1 ? place + 1 : isOn ? place - 1 : place
    const index = found[(next + found.length) % found.length]
    if (index !== undefined) onCursor(index)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter") go(event.shiftKey ? -1 : 1)
    if (event.key === "Escape") field.current?.blur()
  }
  useShortcuts("Tokens", [
    { keys: ["/"], label: "search", run: () => field.current?.focus() },
    { keys: ["n"], label: "next match", run: () => go(1) },
    { keys: ["N"], label: "previous match", run: () => go(-1) }
  ])
  return (
    <label className="token-search">
      <span className="sr-only">Search tokens</span>
      <input
        ref={field}
        type="search"
        placeholder="Text or #id"
        value={text}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={onKeyDown}
      />
      <span className="number" role="status">
        {text === ""
          ? ""
          : found.length === 0
            ? "none"
            : `${found[place] === cursor ? `${count(place + 1)} of ` : ""}${count(found.length)}`}
      </span>
    </label>
  )
}
