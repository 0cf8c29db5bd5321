/**
 * An answer's words while it is sampled: what of them is certain, whatever comes next.
 *
 * Held back is all that could still turn out not to be visible text: from the first mark of a call on, the beginning of
 * any mark (of a call, of thinking, of the answer's end) or stop string, blanks at the end, which marks may take with
 * them, and bytes that are no whole character yet. What is told is the beginning of what the whole answer reads as; the
 * rest comes with it. A text is read again once it has grown by a 64th, so that the work stays linear in it.
 */
import type { Listener, Piece } from "./backend/Inference.ts"
import type { OutputFormat, ReadContext } from "./format/OutputFormat.ts"

export interface Options {
  readonly format: OutputFormat
  readonly context: Omit<ReadContext, "finishReason">
  /** The text of all tokens so far. */
  readonly decode: (ids: ReadonlyArray<number>) => string
  readonly stops: ReadonlyArray<string>
  readonly tell: Listener<Piece>
}

/** Hears tokens; nothing where the format's answers can be read whole alone. */
export const make = ({
  context,
  decode,
  format,
  stops,
  tell
}: Options): Listener<ReadonlyArray<number>> | undefined => {
  const { marks } = format
  if (marks === undefined) return undefined
  const areCalled = context.areCalled ?? true
  const held = [...marks.around, ...(areCalled ? marks.calls : []), ...stops]
  const ends = [...(areCalled ? marks.calls : []), ...stops].filter((one) => one !== "")
  const ids: Array<number> = []
  let read = 0
  const told = { content: "", reasoning: "" }

  const more = (key: keyof typeof told, now: string): string | undefined => {
    if (now.length <= told[key].length || !now.startsWith(told[key])) return undefined
    const news = now.slice(told[key].length)
    told[key] = now
    return news
  }

  return (tokens) => {
    for (const id of tokens) ids.push(id)
    if (ids.length - read < Math.max(1, ids.length >> 6)) return
    read = ids.length
    const { content, reasoning } = format.read(certain(decode(ids), held, ends), { ...context, finishReason: "length" })
    const [thought, said] = [more("reasoning", reasoning ?? ""), more("content", content ?? "")]
    if (thought !== undefined || said !== undefined) {
      tell({ ...(thought !== undefined && { reasoning: thought }), ...(said !== undefined && { content: said }) })
    }
  }
}

/** The beginning of a text that nothing behind it can take back. */
export const certain = (text: string, held: ReadonlyArray<string>, ends: ReadonlyArray<string>): string => {
  let end = text.length
  for (const mark of ends) {
    const at = text.indexOf(mark)
    if (at !== -1) end = Math.min(end, at)
  }
  while (end > 0 && text[end - 1] === "\uFFFD") end--
  const rest = text.slice(0, end)
  let begun = 0
  for (const mark of held) {
    for (let length = Math.min(mark.length, rest.length); length > begun; length--) {
      if (rest.endsWith(mark.slice(0, length))) begun = length
    }
  }
  return rest.slice(0, rest.length - begun).trimEnd()
}
