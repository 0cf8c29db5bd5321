/**
 * Reads content blocks of a request one at a time: text, images, tool calls and their results, reasoning.
 *
 * Block types that open models do not support are rejected by type. Keys without meaning for the model
 * (`cache_control`, `citations`) are ignored and reported, as is reasoning that only its vendor can read.
 */
import { Effect, Predicate, Result, Schema } from "effect"
import * as Reason from "../../../base/Reason.ts"
import type { ContentPart, Message } from "../../../trajectory/Message.ts"
import * as Normalize from "../Normalize.ts"
import type { Failure } from "../Dialect.ts"
import * as Documents from "./Documents.ts"
import * as MessagesErrors from "./Errors.ts"
import * as MessagesInput from "./Input.ts"

export type Ignored = Set<string>

/** Decodes a value; the failure names the invalid parameter. */
export const reader = <A>(schema: Schema.Codec<A, unknown>) => {
  const decode = Schema.decodeUnknownResult(schema)
  return (value: unknown, param: string): Effect.Effect<A, Failure> => {
    const read = decode(value)
    return Result.isSuccess(read)
      ? Effect.succeed(read.success)
      : Effect.fail(MessagesErrors.invalid(param, Reason.oneLine(read.failure)))
  }
}

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
export interface Block {
  readonly type: string
  readonly [key: string]: unknown
}

const isBlock = (value: unknown): value is Block =>
  Predicate.isReadonlyObject(value) && typeof value["type"] === "string"

/** The blocks of a content; a string is one text block. */
export const list = (content: unknown, param: string): Effect.Effect<ReadonlyArray<Block>, Failure> => {
  if (typeof content === "string") return Effect.succeed([{ type: "text", text: content }])
  if (!Array.isArray(content)) {
    return Effect.fail(MessagesErrors.invalid(param, "must be a string or a list of content blocks"))
  }
  if (content.every(isBlock)) return Effect.succeed(content)
  const at = content.findIndex((one) => !isBlock(one))
  return Effect.fail(
    MessagesErrors.invalid(`${param}.${at}`, 'must be an object with a type, for example {"type": "text"}')
  )
}

/** Records the keys of a block without meaning for the model. */
const passOver = (block: Block, known: ReadonlyArray<string>, ignored: Ignored): void => {
  for (const key of Object.keys(block)) {
    if (key !== "type" && !known.includes(key) && block[key] !== null) ignored.add(`${block.type}.${key}`)
  }
}

/** A string of a block. Not decoded by a schema, because a long history has many. */
const stringOf = (block: Block, key: string, param: string): Effect.Effect<string, Failure> => {
  const value = block[key]
  return typeof value === "string"
    ? Effect.succeed(value)
    : Effect.fail(MessagesErrors.invalid(`${param}.${key}`, "must be a string"))
}

export const text = (block: Block, param: string, ignored: Ignored): Effect.Effect<string, Failure> => {
  passOver(block, ["text"], ignored)
  return stringOf(block, "text", param)
}

export const thinking = (block: Block, param: string, ignored: Ignored): Effect.Effect<string, Failure> => {
  passOver(block, ["thinking", "signature"], ignored)
  return stringOf(block, "thinking", param)
}

const image = Effect.fnUntraced(function* (block: Block, param: string, ignored: Ignored) {
  const source = block["source"]
  if (Predicate.isReadonlyObject(source) && source["type"] === "file") {
    return yield* MessagesErrors.unsupported(
      `${param}.source`,
      "uploaded files are not supported: send the image as base64 or url"
    )
  }
  passOver(block, ["source"], ignored)
  const { source: from } = yield* readSource(block, param)
  const url = from.type === "url" ? from.url : `data:${from.media_type};base64,${from.data}`
  return { type: "image_url", image_url: { url } } satisfies ContentPart
})

/** Text, an image or a document, in a message of a user or a tool. */
export const part = Effect.fnUntraced(function* (block: Block, param: string, ignored: Ignored) {
  switch (block.type) {
    case "text":
      return { type: "text", text: yield* text(block, param, ignored) } satisfies ContentPart
    case "image":
      return yield* image(block, param, ignored)
    case "document":
      passOver(block, ["source", "title", "context"], ignored)
      return { type: "text", text: yield* Documents.read(block, param) } satisfies ContentPart
    case "tool_reference":
      // The result of a search for tools, which are all in the prompt.
      passOver(block, ["tool_name"], ignored)
      return {
        type: "text",
        text: `The tool ${yield* stringOf(block, "tool_name", param)} is available.`
      } satisfies ContentPart
    default:
      return yield* MessagesErrors.unsupported(
        param,
        `blocks of type "${block.type}" are not supported; use text, image and document blocks`
      )
  }
})

export const toolResult = Effect.fnUntraced(function* (block: Block, param: string, ignored: Ignored) {
  const { content = null, is_error: isError } = block
  passOver(block, ["tool_use_id", "content", ...(isError === true ? [] : ["is_error"])], ignored)
  const id = yield* stringOf(block, "tool_use_id", param)
  if (typeof content === "string") return { role: "tool", content, tool_call_id: id } satisfies Message
  const blocks = yield* list(content ?? "", `${param}.content`)
  const parts = yield* Effect.forEach(blocks, (one, index) => part(one, `${param}.content.${index}`, ignored))
  return { role: "tool", content: Normalize.content(parts), tool_call_id: id } satisfies Message
})

/** A call by the assistant, as sent back. */
export const toolUse = Effect.fnUntraced(function* (block: Block, param: string, ignored: Ignored) {
  passOver(block, ["id", "name", "input", "caller"], ignored)
  const id = yield* stringOf(block, "id", param)
  const name = yield* stringOf(block, "name", param)
  if (block["input"] === undefined) return yield* MessagesErrors.invalid(`${param}.input`, "must be an object")
  return Normalize.toolCall(id, name, MessagesInput.write(block["input"]))
})
