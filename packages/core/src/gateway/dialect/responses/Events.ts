/**
 * Streams a response as server-sent events: it is created, each item is added, grows and is done, and finally the
 * complete response follows. Events are numbered from 0 and named after their type; without a `[DONE]`.
 */
import type { Answered, Head, Streamed } from "../Dialect.ts"
import * as Frames from "../Frames.ts"
import * as OpenAiFailure from "../OpenAiFailure.ts"
import * as ResponsesAnswer from "./Answer.ts"
import * as ResponsesIds from "./Ids.ts"
import * as ResponsesItems from "./Items.ts"
import { textPart } from "./Items.ts"
import type { Asked } from "./Request.ts"

interface Event {
  readonly type: string
  readonly [field: string]: unknown
}

/** Makes the final response, and remembers it. */
export type Respond = (answered: Answered) => ResponsesAnswer.Response

/** Reasoning is sent in one piece when the text begins; text is streamed. */
export const stream = (request: Asked, head: Head, respond: Respond): Streamed => {
  let count = 0
  const write = (events: ReadonlyArray<Event>): ReadonlyArray<string> =>
    events.map(({ type, ...fields }) => Frames.frame({ type, sequence_number: count++, ...fields }, type))
  const begun = ResponsesAnswer.begun(request, head)
  const beginning = (): ReadonlyArray<Event> =>
    count > 0
      ? []
      : [
          { type: "response.created", response: begun },
          { type: "response.in_progress", response: begun }
        ]
  const streamed = { content: "", reasoning: "" }
  /** The reasoning sent before the text, and the message's position. */
  const place = (): ItemPosition => ({ ...messagePlace(head.id, streamed.reasoning === "" ? 0 : 1) })

  const words = (text: string): ReadonlyArray<Event> => {
    const at = place()
    const opening =
      streamed.content === ""
        ? [
            ...ResponsesItems.make({
              ...ResponsesAnswer.itemOptions(request, head.id),
              ...reasoned(streamed.reasoning)
            })
              .filter(({ type }) => type === "reasoning")
              .flatMap(ofItem),
            ...openMessage(at)
          ]
        : []
    streamed.content += text
    return [...opening, ...deltas("response.output_text.delta", text, { ...at, content_index: 0, logprobs: [] })]
  }

  return {
    begin: () => write(beginning()),
    alive: Frames.comment,
    delta: ({ content = "", reasoning = "" }) => {
      streamed.reasoning += reasoning
      return write([...beginning(), ...(content === "" ? [] : words(content))])
    },
    end: (answered) => {
      const response = respond(answered)
      const { content, reasoning } = streamed
      const growth = response.output.flatMap((item, at) => {
        if (content === "") return ofItem(item, at)
        if (item.type === "message") return closeMessage(item, at, content.length)
        return item.type === "reasoning" && reasoning !== "" ? [] : ofItem(item, at)
      })
      return write([...beginning(), ...growth, { type: `response.${response.status}`, response }])
    },
    broken: (failure) => {
      const { error } = OpenAiFailure.write(failure).body as {
        readonly error: { readonly code: string | null; readonly message: string; readonly param: string | null }
      }
      const { code, message, param } = error
      return write([...beginning(), { type: "error", code, message, param }])
    }
  }
}

const reasoned = (reasoning: string) => ({
  message: { role: "assistant", content: "", reasoning_content: reasoning },
  isCut: false
})

const messagePlace = (answer: string, at: number): ItemPosition => ({
  item_id: ResponsesIds.item({ answer, kind: "message", ordinal: 0 }),
  output_index: at
})

/** A message before its text, and its only part. */
const openMessage = (place: ItemPosition): ReadonlyArray<Event> => [
  {
    type: "response.output_item.added",
    output_index: place.output_index,
    item: { id: place.item_id, type: "message", role: "assistant", status: "in_progress", content: [] }
  },
  { type: "response.content_part.added", ...place, content_index: 0, part: textPart("") }
]

/** The events after the first `streamed` characters of a message. */
const closeMessage = (item: ResponsesItems.MessageItem, at: number, streamed: number): ReadonlyArray<Event> => {
  const place = { item_id: item.id, output_index: at, content_index: 0 }
  const [part = textPart("")] = item.content
  return [
    ...deltas("response.output_text.delta", part.text.slice(streamed), { ...place, logprobs: [] }),
    { type: "response.output_text.done", ...place, logprobs: [], text: part.text },
    { type: "response.content_part.done", ...place, part },
    { type: "response.output_item.done", output_index: at, item }
  ]
}

const ofItem = (item: ResponsesItems.Item, at: number): ReadonlyArray<Event> => {
  const place = { item_id: item.id, output_index: at }
  const [empty, growth] = growthOf(item, place)
  return [
    { type: "response.output_item.added", output_index: at, item: { ...empty, status: "in_progress" } },
    ...growth,
    { type: "response.output_item.done", output_index: at, item }
  ]
}

interface ItemPosition {
  readonly item_id: string
  readonly output_index: number
}

/** An item as added, and the events that complete it. */
const growthOf = (item: ResponsesItems.Item, place: ItemPosition): readonly [object, ReadonlyArray<Event>] => {
  switch (item.type) {
    case "reasoning": {
      const { encrypted_content: _, ...open } = item
      return [
        { ...open, summary: [], content: [] },
        [
          ...item.summary.flatMap((part, index) => ofSummary(part, { ...place, summary_index: index })),
          ...item.content.flatMap((part, index) =>
            ofPart("response.reasoning_text", part, { ...part, text: "" }, { ...place, content_index: index }, {})
          )
        ]
      ]
    }
    case "message":
      return [
        { ...item, content: [] },
        item.content.flatMap((part, index) =>
          ofPart("response.output_text", part, textPart(""), { ...place, content_index: index }, { logprobs: [] })
        )
      ]
    case "custom_tool_call":
      return [
        { ...item, input: "" },
        [
          ...deltas("response.custom_tool_call_input.delta", item.input, place),
          { type: "response.custom_tool_call_input.done", ...place, input: item.input }
        ]
      ]
    case "function_call":
      return [
        { ...item, arguments: "" },
        [
          ...deltas("response.function_call_arguments.delta", item.arguments, place),
          { type: "response.function_call_arguments.done", ...place, name: item.name, arguments: item.arguments }
        ]
      ]
  }
}

const ofPart = (
  name: string,
  part: { readonly text: string },
  empty: unknown,
  place: ItemPosition & { readonly content_index: number },
  extra: object
): ReadonlyArray<Event> => [
  { type: "response.content_part.added", ...place, part: empty },
  ...deltas(`${name}.delta`, part.text, { ...place, ...extra }),
  { type: `${name}.done`, ...place, ...extra, text: part.text },
  { type: "response.content_part.done", ...place, part }
]

const ofSummary = (
  part: { readonly text: string },
  place: ItemPosition & { readonly summary_index: number }
): ReadonlyArray<Event> => [
  { type: "response.reasoning_summary_part.added", ...place, part: { ...part, text: "" } },
  ...deltas("response.reasoning_summary_text.delta", part.text, place),
  { type: "response.reasoning_summary_text.done", ...place, text: part.text },
  { type: "response.reasoning_summary_part.done", ...place, part }
]

const deltas = (type: string, text: string, place: object): ReadonlyArray<Event> =>
  Frames.pieces(text).map((delta) => ({ type, ...place, delta }))
