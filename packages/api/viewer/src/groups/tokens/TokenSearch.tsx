/** Searches text in a rollout's tokens, across token boundaries, or an id (`#42`). */
import { type KeyboardEvent, useMemo, useRef, useState } from "react"
import { count } from "../../ui/Format.ts"
import { useShortcuts } from "../../ui/useShortcuts.tsx"
import { find } from "./Find.ts"
import type { TokenModel } from "./TokenModel.ts"

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
