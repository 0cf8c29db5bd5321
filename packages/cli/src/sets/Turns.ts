/**
 * Finds the messages of a chat that its token mask trains, each in one span.
 *
 * If there are fewer spans than assistant messages (examples in a prompt, answers trained in another sequence), spans
 * are matched to messages in order by position, in tokens if a tokenizer renders the chat, otherwise in bytes of text.
 * A group without tokens, or with a mask covering everything, trains the last assistant message.
 */
import type { Message } from "@atropos/core"
import * as Chat from "./Chat.ts"
import * as TokenText from "./TokenText.ts"

/** The range of a message in its chat, in any unit. */
export interface Extent {
  readonly start: number
  readonly end: number
}

export interface Extents {
  /** One per message. */
  readonly messages: ReadonlyArray<Extent>
  readonly total: number
  /** True if measured in tokens, as masks are. */
  readonly inTokens: boolean
}

const encoder = new TextEncoder()

/** The extents of messages in bytes: their text plus an allowance for template markup. */
export const inBytes = (chat: ReadonlyArray<Message.Message>): Extents => {
  const messages: Array<Extent> = []
  let total = 0
  for (const message of chat) {
    const { content, reasoning_content: reasoning, tool_calls: calls } = Chat.plain(message)
    const parts = [typeof content === "string" ? content : (JSON.stringify(content) ?? "")]
    if (reasoning) parts.push(reasoning)
    for (const { function: called } of calls ?? []) parts.push(called.name, called.arguments)
    const start = total + marks
    total = start + encoder.encode(parts.join("")).length + (calls ?? []).length * callMarks
    messages.push({ start, end: total })
  }
  return { messages, total, inTokens: false }
}
/** Approximate template markup per message and per tool call. */
const marks = 16
const callMarks = 40

/** The indices of the trained messages, ascending; undefined if the mask is ambiguous. */
export const trained = (
  chat: ReadonlyArray<Message.Message>,
  mask: Uint8Array,
  extents: () => Extents
): ReadonlyArray<number> | undefined => {
  const written = chat.flatMap((message, index) => (Chat.isAssistant(message) ? [index] : []))
  const all = TokenText.spans(mask)
  const spans = all.filter(({ isTrained }) => isTrained)
  if (mask.length > 0 && spans.length === 0) return []
  if (all.length <= 1) return written.slice(-1)
  if (spans.length >= written.length) return written
  const { inTokens, messages, total } = extents()
  // Tokens that the chat does not have, those of tools, come first: places count from the end.
  const place = (at: number): number => (inTokens ? 1 - (total - at) / mask.length : at / total)
  return matched(
    spans.map(({ end, start }) => ({ start: start / mask.length, end: end / mask.length })),
    written.map((index) => ({ start: place(messages[index]!.start), end: place(messages[index]!.end) }))
  )?.map((place) => written[place]!)
}

interface Match {
  readonly cost: number
  readonly place: number
  readonly before: Match | undefined
}

/** Assigns each span a place after that of the previous span, minimising the total distance. */
const matched = (spans: ReadonlyArray<Extent>, places: ReadonlyArray<Extent>): ReadonlyArray<number> | undefined => {
  /** By number of spans: the best match of that many first spans with the places so far. */
  const best: Array<Match | undefined> = []
  for (const [place, there] of places.entries()) {
    for (let at = Math.min(spans.length - 1, place); at >= 0; at--) {
      const span = spans[at]!
      const before = at === 0 ? undefined : best[at - 1]
      if (at > 0 && before === undefined) continue
      const cost = (before?.cost ?? 0) + distance(span, there)
      const known = best[at]
      // The later place wins ties.
      if (known === undefined || cost <= known.cost) best[at] = { cost, place, before }
    }
  }
  const selected: Array<number> = []
  for (let match = best[spans.length - 1]; match !== undefined; match = match.before) selected.push(match.place)
  const matches = selected.toReversed()
  return matches.every((place, at) => isClear(spans[at]!, places, place, matches[at - 1], matches[at + 1]))
    ? matches
    : undefined
}

const distance = (span: Extent, place: Extent): number =>
  Math.abs(span.start - place.start) + Math.abs(span.end - place.end)

/** Returns true if no other possible place for the span is nearly as close. */
const isClear = (
  span: Extent,
  places: ReadonlyArray<Extent>,
  selected: number,
  before = -1,
  after = places.length
): boolean => {
  const own = distance(span, places[selected]!)
  for (let place = before + 1; place < after; place++) {
    if (place !== selected && distance(span, places[place]!) < 3 * own) return false
  }
  return true
}
