/**
 * Joins items into messages. One answer of the model is one message, but is sent as several items: its reasoning, its
 * text, each call. They come back consecutively or with the outputs of calls between them, with or without ids, and are
 * joined into one message again.
 */
import type { Message, ToolCall } from "../../../trajectory/Message.ts"
import * as Normalize from "../Normalize.ts"
import type { ItemRef } from "./Ids.ts"

export interface Part {
  /** The original position; undefined: from another service, or its id was omitted. */
  readonly place: ItemRef | undefined
  readonly reasoning?: string
  readonly content?: string
  readonly call?: ToolCall
}

export interface Transcript {
  readonly add: (message: Message) => void
  readonly addPart: (part: Part) => void
  readonly messages: () => ReadonlyArray<Message>
}

interface AssistantMessage {
  answer: string | undefined
  reasoning: string | undefined
  content: string | undefined
  readonly calls: Array<{ readonly call: ToolCall; readonly ordinal: number | undefined }>
}

type Entry = { readonly spoken: AssistantMessage } | { readonly message: Message }

/** A transcript that continues the given messages. */
export const make = (start: ReadonlyArray<Message>): Transcript => {
  const entries: Array<Entry> = []

  /** The assistant's last message, as long as only outputs of its calls follow. */
  let last: AssistantMessage | undefined
  let isNewest = false

  const add = (message: Message): void => {
    entries.push({ message })
    isNewest = false
    if (message.role !== "tool") last = undefined
  }

  const addPart = (part: Part): void => {
    if (last === undefined || !belongs(part, last, isNewest)) {
      last = { answer: undefined, reasoning: undefined, content: undefined, calls: [] }
      isNewest = true
      entries.push({ spoken: last })
    }
    last.answer ??= part.place?.answer
    if (part.reasoning !== undefined)
      last.reasoning = last.reasoning === undefined ? part.reasoning : `${last.reasoning}\n${part.reasoning}`
    if (part.content !== undefined) last.content = part.content
    if (part.call !== undefined) last.calls.push({ call: part.call, ordinal: part.place?.ordinal })
  }

  const messages = (): ReadonlyArray<Message> => [
    ...start,
    ...entries.map((entry) => ("message" in entry ? entry.message : messageOf(entry.spoken)))
  ]

  return { add, addPart, messages }
}

/** True if a part belongs to the same answer as the last message. */
const belongs = ({ content, place, reasoning }: Part, open: AssistantMessage, isNewest: boolean): boolean => {
  if (content !== undefined && open.content !== undefined) return false
  if (place !== undefined && open.answer !== undefined) return place.answer === open.answer
  // Without ids, a message continues until the next reasoning, text or output.
  return isNewest && (reasoning === undefined || (open.content === undefined && open.calls.length === 0))
}

const messageOf = ({ calls, content = "", reasoning }: AssistantMessage): Message => {
  const isOrdered = calls.every(({ ordinal }) => ordinal !== undefined)
  const ordered = isOrdered ? calls.toSorted((a, b) => (a.ordinal ?? 0) - (b.ordinal ?? 0)) : calls
  return Normalize.assistant({
    content,
    ...(reasoning !== undefined && { reasoning }),
    toolCalls: ordered.map(({ call }) => call)
  })
}
