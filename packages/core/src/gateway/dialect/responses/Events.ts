/**
 * A response as server-sent events: it is begun, each item is added, grows piece by piece and is done, and last comes
 * the whole response. Events are numbered from 0; an event has its type as its name, and no `[DONE]` follows.
 */
import type { Answered } from "../Dialect.ts"
import * as Frames from "../Frames.ts"
import * as ResponsesAnswer from "./Answer.ts"
import type * as ResponsesItems from "./Items.ts"
import { textPart } from "./Items.ts"
import type { Asked } from "./Request.ts"

interface Event {
  readonly type: string
  readonly [field: string]: unknown
}

export const make = (asked: Asked, answered: Answered, response: ResponsesAnswer.Response): ReadonlyArray<string> => {
  const begun = ResponsesAnswer.begun(asked, answered)
  const events: ReadonlyArray<Event> = [
    { type: "response.created", response: begun },
    { type: "response.in_progress", response: begun },
    ...response.output.flatMap(ofItem),
    { type: `response.${response.status}`, response }
  ]
  return events.map(({ type, ...fields }, at) => Frames.frame({ type, sequence_number: at, ...fields }, type))
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

interface Place {
  readonly item_id: string
  readonly output_index: number
}

/** An item as it is added, and how it comes to be what it is. */
const growthOf = (item: ResponsesItems.Item, place: Place): readonly [object, ReadonlyArray<Event>] => {
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
  place: Place & { readonly content_index: number },
  extra: object
): ReadonlyArray<Event> => [
  { type: "response.content_part.added", ...place, part: empty },
  ...deltas(`${name}.delta`, part.text, { ...place, ...extra }),
  { type: `${name}.done`, ...place, ...extra, text: part.text },
  { type: "response.content_part.done", ...place, part }
]

const ofSummary = (
  part: { readonly text: string },
  place: Place & { readonly summary_index: number }
): ReadonlyArray<Event> => [
  { type: "response.reasoning_summary_part.added", ...place, part: { ...part, text: "" } },
  ...deltas("response.reasoning_summary_text.delta", part.text, place),
  { type: "response.reasoning_summary_text.done", ...place, text: part.text },
  { type: "response.reasoning_summary_part.done", ...place, part }
]

const deltas = (type: string, text: string, place: object): ReadonlyArray<Event> =>
  Frames.pieces(text).map((delta) => ({ type, ...place, delta }))
