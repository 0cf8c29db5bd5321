/**
 * Streams an answer's text during sampling, restricted to what cannot change any more.
 *
 * Holds back anything from the first call marker on, prefixes of any marker (of a call, of thinking, of the answer's
 * end) or stop string, trailing whitespace, which markers may absorb, and incomplete characters. The streamed text is
 * always a prefix of the complete answer's. The text is re-read once it has grown by 1/64, so the work stays linear.
 */
import type { DeltaHandler, Delta } from "../wire/Inference.ts"
import type { OutputFormat, ReadContext } from "../format/OutputFormat.ts"

export interface Options {
  readonly format: OutputFormat
  readonly context: Omit<ReadContext, "finishReason">
  /** The text of all tokens so far. */
  readonly decode: (ids: ReadonlyArray<number>) => string
  readonly stops: ReadonlyArray<string>
  readonly onDelta: DeltaHandler<Delta>
}

/** A handler of tokens; undefined if the format's answers can only be read as a whole. */
export const make = ({
  context,
  decode,
  format,
  stops,
  onDelta
}: Options): DeltaHandler<ReadonlyArray<number>> | undefined => {
  const { marks } = format
  if (marks === undefined) return undefined
  const areCalled = context.areCalled ?? true
  const held = [...marks.around, ...(areCalled ? marks.calls : []), ...stops]
  const ends = [...(areCalled ? marks.calls : []), ...stops].filter((one) => one !== "")
  const ids: Array<number> = []
  let read = 0
  const sent = { content: "", reasoning: "" }

  const more = (key: keyof typeof sent, now: string): string | undefined => {
    if (now.length <= sent[key].length || !now.startsWith(sent[key])) return undefined
    const news = now.slice(sent[key].length)
    sent[key] = now
    return news
  }

  return (tokens) => {
    for (const id of tokens) ids.push(id)
    if (ids.length - read < Math.max(1, ids.length >> 6)) return
    read = ids.length
    const { content, reasoning } = format.read(certain(decode(ids), held, ends), { ...context, finishReason: "length" })
    const [thought, said] = [more("reasoning", reasoning ?? ""), more("content", content ?? "")]
    if (thought !== undefined || said !== undefined) {
      onDelta({ ...(thought !== undefined && { reasoning: thought }), ...(said !== undefined && { content: said }) })
    }
  }
}

/** The prefix of a text that later text cannot invalidate. */
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
