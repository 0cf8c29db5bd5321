/**
 * Reads the `input` of a request (a text, or items) into messages.
 *
 * An answer that a client sends back becomes exactly the recorded message: reasoning, text and calls are one message,
 * outputs of functions are messages of the role `tool`. Tools that are sent as items are read by `ResponsesTools`. Item
 * types that only OpenAI's own tools produce are rejected by name.
 */
import { Effect, Predicate, Schema } from "effect"
import { type Message, text as textOf, user } from "../../../trajectory/Message.ts"
import * as Normalize from "../Normalize.ts"
import type { Failure, Memory } from "../Dialect.ts"
import * as OpenAiFailure from "../OpenAiFailure.ts"
import * as Reading from "../Reading.ts"
import * as ResponsesContent from "./Content.ts"
import * as ResponsesIds from "./Ids.ts"
import * as ResponsesReasoning from "./Reasoning.ts"
import * as ResponsesTools from "./Tools.ts"
import * as ResponsesTranscript from "./Transcript.ts"

const id = Schema.optionalKey(Schema.NullOr(Schema.String))
const texts = Schema.optionalKey(
  Schema.NullOr(Schema.Array(Schema.Struct({ type: Schema.String, text: Schema.String })))
)

const readItem = Reading.reader(
  Schema.Struct({ type: Schema.optionalKey(Schema.NullOr(Schema.String)), role: Schema.optionalKey(Schema.Unknown) })
)
const readMessage = Reading.reader(
  Schema.Struct({
    role: Schema.Literals(["user", "assistant", "system", "developer"]),
    content: Schema.Unknown,
    id
  })
)
const called = { call_id: Schema.NonEmptyString, name: Schema.NonEmptyString, namespace: id, id }
const readCall = Reading.reader(Schema.Struct({ ...called, arguments: Schema.String }))
const readCustomCall = Reading.reader(Schema.Struct({ ...called, input: Schema.String }))
const readOutput = Reading.reader(Schema.Struct({ call_id: Schema.NonEmptyString, output: Schema.Unknown }))
const readReasoning = Reading.reader(
  Schema.Struct({
    id,
    summary: texts,
    content: texts,
    encrypted_content: Schema.optionalKey(Schema.NullOr(Schema.String))
  })
)
const readReference = Reading.reader(Schema.Struct({ id: Schema.String }))

const toolsType = "additional_tools"

/** The lists of tools among the items. */
export const additionalTools = (input: unknown): ReadonlyArray<{ readonly value: unknown; readonly param: string }> =>
  (Array.isArray(input) ? input : []).flatMap((item: unknown, at) =>
    Predicate.isReadonlyObject(item) && item["type"] === toolsType
      ? [{ value: item["tools"], param: `input[${at}].tools` }]
      : []
  )

export interface Input {
  readonly value: unknown
  /** The chat referred to by `previous_response_id`. */
  readonly earlier: ReadonlyArray<Message>
  readonly memory: Memory
}

export const decode = Effect.fnUntraced(function* ({
  earlier,
  memory,
  value
}: Input): Effect.fn.Return<ReadonlyArray<Message>, Failure> {
  if (typeof value === "string") return [...earlier, user(value)]
  if (!Array.isArray(value)) return yield* OpenAiFailure.invalid("input", "expected a string or a list of items")
  const transcript = ResponsesTranscript.make(earlier)
  const called = new Set(earlier.flatMap(({ tool_calls: calls = [] }) => calls.map((call) => call.id)))
  for (const [at, item] of value.entries()) {
    const param = `input[${at}]`
    const kind = yield* kindOf(item, param)
    switch (kind) {
      case "message":
        yield* addMessage(transcript, item, param)
        break
      case "reasoning":
        yield* addReasoning(transcript, item, param, memory)
        break
      case toolsType:
        break
      case "function_call":
      case "custom_tool_call": {
        const { call, id } =
          kind === "function_call" ? yield* functionCall(item, param) : yield* customCall(item, param)
        called.add(call.id)
        transcript.addPart({ place: ResponsesIds.parse(id), call })
        break
      }
      case "custom_tool_call_output":
      case "function_call_output": {
        const { call_id: callId, output } = yield* readOutput(item, param)
        if (!called.has(callId))
          return yield* OpenAiFailure.invalid(
            `${param}.call_id`,
            `no call with call_id ${JSON.stringify(callId)} precedes this output`
          )
        const content = yield* ResponsesContent.decode(output, `${param}.output`)
        transcript.add({ role: "tool", tool_call_id: callId, content })
        break
      }
      case "item_reference": {
        const part = yield* addReference(transcript, item, param, memory)
        if (part.call !== undefined) called.add(part.call.id)
        break
      }
      default:
        return yield* OpenAiFailure.unsupported(
          `${param}.type`,
          `an item of type "${kind}" is not supported; supported are message, reasoning, function_call, ` +
            "custom_tool_call, their outputs, additional_tools and item_reference"
        )
    }
  }
  return transcript.messages()
})

const functionCall = Effect.fnUntraced(function* (item: unknown, param: string) {
  const { arguments: text, call_id: callId, id, name, namespace } = yield* readCall(item, param)
  return { id, call: Normalize.toolCall(callId, ResponsesTools.nameOf(name, namespace), text) }
})

const customCall = Effect.fnUntraced(function* (item: unknown, param: string) {
  const { call_id: callId, id, input, name, namespace } = yield* readCustomCall(item, param)
  const text = ResponsesTools.customArguments(input)
  return { id, call: Normalize.toolCall(callId, ResponsesTools.nameOf(name, namespace), text) }
})

/** The type of an item, which messages and references may omit. */
const kindOf = Effect.fnUntraced(function* (item: unknown, param: string): Effect.fn.Return<string, Failure> {
  const { role, type } = yield* readItem(item, param)
  return type ?? (role === undefined ? "item_reference" : "message")
})

const addMessage = Effect.fnUntraced(function* (
  transcript: ResponsesTranscript.Transcript,
  item: unknown,
  param: string
): Effect.fn.Return<void, Failure> {
  const { content: value, id, role } = yield* readMessage(item, param)
  if (role === "assistant") {
    const content = yield* ResponsesContent.decodeText(value, `${param}.content`)
    return transcript.addPart({ place: ResponsesIds.parse(id), content })
  }
  const content = yield* ResponsesContent.decode(value, `${param}.content`)
  transcript.add({ role: role === "developer" ? "system" : role, content })
})

const addReasoning = Effect.fnUntraced(function* (
  transcript: ResponsesTranscript.Transcript,
  item: unknown,
  param: string,
  memory: Memory
): Effect.fn.Return<void, Failure> {
  const { content, encrypted_content: sealed, id, summary } = yield* readReasoning(item, param)
  const place = ResponsesIds.parse(id)
  const reasoning =
    joined(content) ??
    (typeof sealed === "string" ? ResponsesReasoning.open(sealed) : undefined) ??
    joined(summary) ??
    recorded(place, memory)?.reasoning_content
  if (typeof reasoning === "string") return transcript.addPart({ place, reasoning })
  if (typeof sealed === "string")
    return yield* OpenAiFailure.invalid(
      `${param}.encrypted_content`,
      "it was not created by this gateway and cannot be decrypted; remove the item"
    )
})

const addReference = Effect.fnUntraced(function* (
  transcript: ResponsesTranscript.Transcript,
  item: unknown,
  param: string,
  memory: Memory
): Effect.fn.Return<ResponsesTranscript.Part, Failure> {
  const { id } = yield* readReference(item, param)
  const place = ResponsesIds.parse(id)
  const part = place === undefined ? undefined : partOf(place, recorded(place, memory))
  if (part === undefined)
    return yield* OpenAiFailure.invalid(
      `${param}.id`,
      `item not found: ${JSON.stringify(id)}; items can be referenced if the response was stored`
    )
  transcript.addPart(part)
  return part
})

const joined = (parts: ReadonlyArray<{ readonly text: string }> | null | undefined): string | undefined =>
  parts === undefined || parts === null || parts.length === 0 ? undefined : parts.map(({ text }) => text).join("\n")

/** The answer that an item originally belonged to, if still stored. */
const recorded = (place: ResponsesIds.ItemRef | undefined, memory: Memory): Message | undefined =>
  place === undefined ? undefined : memory.recall(ResponsesIds.response(place.answer))?.at(-1)

const partOf = (place: ResponsesIds.ItemRef, message: Message | undefined): ResponsesTranscript.Part | undefined => {
  if (message === undefined) return undefined
  switch (place.kind) {
    case "message":
      return { place, content: textOf(message) }
    case "reasoning":
      return typeof message.reasoning_content === "string" ? { place, reasoning: message.reasoning_content } : undefined
    case "call": {
      const call = message.tool_calls?.[place.ordinal]
      return call === undefined ? undefined : { place, call }
    }
  }
}
