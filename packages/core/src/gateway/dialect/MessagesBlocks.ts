/**
 * Content blocks of a request, one at a time: text, images, tool calls and their results, thinking.
 *
 * A block of a kind that no open model is given is refused by its type. Keys that say nothing to the model
 * (`cache_control`, `citations`) are passed over and named; so is thinking that only its maker can read.
 */
import { Effect, Predicate, Result, Schema } from "effect"
import * as Reason from "../../base/Reason.ts"
import type { ContentPart, Message } from "../../Message.ts"
import * as Canon from "./Canon.ts"
import type { Failure } from "./Dialect.ts"
import * as MessagesErrors from "./MessagesErrors.ts"
import * as MessagesInput from "./MessagesInput.ts"

/** Names of what was passed over so far. */
export type Ignored = Set<string>

/** Reads a value; the failure says which parameter is not what it should be. */
export const reader = <A>(schema: Schema.Codec<A, unknown>) => {
  const decode = Schema.decodeUnknownResult(schema)
  return (value: unknown, param: string): Effect.Effect<A, Failure> => {
    const read = decode(value)
    return Result.isSuccess(read)
      ? Effect.succeed(read.success)
      : Effect.fail(MessagesErrors.invalid(param, Reason.oneLine(read.failure)))
  }
}

const readText = reader(Schema.Struct({ text: Schema.String }))
const readThinking = reader(Schema.Struct({ thinking: Schema.String }))
const readCall = reader(
  Schema.Struct({ id: Schema.NonEmptyString, name: Schema.NonEmptyString, input: Schema.Unknown })
)
const readSource = reader(
  Schema.Struct({
    source: Schema.Union([
      Schema.Struct({
        type: Schema.Literal("base64"),
        media_type: Schema.NonEmptyString,
        data: Schema.NonEmptyString
      }),
      Schema.Struct({ type: Schema.Literal("url"), url: Schema.NonEmptyString })
    ])
  })
)
const readResult = reader(
  Schema.Struct({
    tool_use_id: Schema.NonEmptyString,
    content: Schema.optionalKey(Schema.NullOr(Schema.Union([Schema.String, Schema.Array(Schema.Unknown)]))),
    is_error: Schema.optionalKey(Schema.NullOr(Schema.Boolean))
  })
)

/** A block with its type known. */
export interface Block {
  readonly type: string
  readonly [key: string]: unknown
}

export const block = (value: unknown, param: string): Effect.Effect<Block, Failure> =>
  Predicate.isReadonlyObject(value) && typeof value["type"] === "string"
    ? Effect.succeed({ ...value, type: value["type"] })
    : Effect.fail(MessagesErrors.invalid(param, 'a content block is an object with a type, such as {"type": "text"}'))

/** The blocks of a content, of which a string is one of text. */
export const list = Effect.fnUntraced(function* (content: unknown, param: string) {
  if (typeof content === "string") return [{ type: "text", text: content } satisfies Block]
  if (!Array.isArray(content)) {
    return yield* MessagesErrors.invalid(param, "content is a string or a list of content blocks")
  }
  return yield* Effect.forEach(content, (one, index) => block(one, `${param}.${index}`))
})

/** Names the keys of a block that say nothing to the model. */
const passOver = (given: Block, known: ReadonlyArray<string>, ignored: Ignored): void => {
  for (const key of Object.keys(given)) {
    if (key !== "type" && !known.includes(key) && given[key] !== null) ignored.add(`${given.type}.${key}`)
  }
}

export const text = Effect.fnUntraced(function* (given: Block, param: string, ignored: Ignored) {
  passOver(given, ["text"], ignored)
  return (yield* readText(given, param)).text
})

const image = Effect.fnUntraced(function* (given: Block, param: string, ignored: Ignored) {
  const source = given["source"]
  if (Predicate.isReadonlyObject(source) && source["type"] === "file") {
    return yield* MessagesErrors.unsupported(
      `${param}.source`,
      "no files are kept here: send the image by base64 or url"
    )
  }
  passOver(given, ["source"], ignored)
  const { source: from } = yield* readSource(given, param)
  const url = from.type === "url" ? from.url : `data:${from.media_type};base64,${from.data}`
  return { type: "image_url", image_url: { url } } satisfies ContentPart
})

/** Text or a picture, as part of what a user or a tool says. */
export const part = Effect.fnUntraced(function* (given: Block, param: string, ignored: Ignored) {
  switch (given.type) {
    case "text":
      return { type: "text", text: yield* text(given, param, ignored) } satisfies ContentPart
    case "image":
      return yield* image(given, param, ignored)
    default:
      return yield* MessagesErrors.unsupported(
        param,
        `a block of type "${given.type}" cannot be given to this model here; text and image blocks can`
      )
  }
})

/** What a tool answered, as a message. */
export const toolResult = Effect.fnUntraced(function* (given: Block, param: string, ignored: Ignored) {
  const result = yield* readResult(given, param)
  passOver(given, ["tool_use_id", "content", ...(result.is_error === true ? [] : ["is_error"])], ignored)
  const blocks = yield* list(result.content ?? "", `${param}.content`)
  const parts = yield* Effect.forEach(blocks, (one, index) => part(one, `${param}.content.${index}`, ignored))
  return { role: "tool", content: Canon.content(parts), tool_call_id: result.tool_use_id } satisfies Message
})

/** A call that the assistant made, as it is sent back. */
export const toolUse = Effect.fnUntraced(function* (given: Block, param: string, ignored: Ignored) {
  passOver(given, ["id", "name", "input", "caller"], ignored)
  const { id, input, name } = yield* readCall(given, param)
  return Canon.toolCall(id, name, MessagesInput.write(input))
})

export const thinking = Effect.fnUntraced(function* (given: Block, param: string, ignored: Ignored) {
  passOver(given, ["thinking", "signature"], ignored)
  return (yield* readThinking(given, param)).thinking
})
