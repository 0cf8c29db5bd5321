/**
 * Reads the content of messages and function outputs: a text, or parts. Texts of any side (`input_text`, `output_text`,
 * a `refusal`) are text; images are passed by URL; files are rejected.
 */
import { Effect, Schema } from "effect"
import type { ContentPart, Message } from "../../../trajectory/Message.ts"
import * as Normalize from "../Normalize.ts"
import type { Failure } from "../Dialect.ts"
import * as OpenAiFailure from "../OpenAiFailure.ts"
import * as Reading from "../Reading.ts"

const optional = Schema.optionalKey(Schema.NullOr(Schema.String))
const Part = Schema.Struct({
  type: Schema.String,
  text: optional,
  refusal: optional,
  image_url: optional,
  file_id: optional,
  detail: optional
})
type Part = typeof Part.Type
const readParts = Reading.reader(Schema.Array(Part))

export const decode = Effect.fnUntraced(function* (
  value: unknown,
  param: string
): Effect.fn.Return<Message["content"], Failure> {
  if (typeof value === "string") return value
  if (!Array.isArray(value)) return yield* OpenAiFailure.invalid(param, "expected a string or a list of parts")
  const parts = yield* readParts(value, param)
  return Normalize.content(yield* Effect.forEach(parts, (part, at) => partOf(part, `${param}[${at}]`)))
})

/** Like `decode`, for text-only content. */
export const decodeText = Effect.fnUntraced(function* (
  value: unknown,
  param: string
): Effect.fn.Return<string, Failure> {
  const content = yield* decode(value, param)
  return typeof content === "string"
    ? content
    : yield* OpenAiFailure.unsupported(param, "assistant content must be text")
})

const partOf = (part: Part, param: string): Effect.Effect<ContentPart, Failure> => {
  switch (part.type) {
    case "input_text":
    case "output_text":
    case "text":
    case "summary_text":
    case "reasoning_text":
      return textOf(part.text, `${param}.text`)
    case "refusal":
      return textOf(part.refusal, `${param}.refusal`)
    case "input_image":
      return imageOf(part, param)
    default:
      return Effect.fail(
        OpenAiFailure.unsupported(
          `${param}.type`,
          `a part of type "${part.type}" is not supported; supported are input_text, output_text, refusal and input_image`
        )
      )
  }
}

const textOf = (text: string | null | undefined, param: string): Effect.Effect<ContentPart, Failure> =>
  typeof text === "string"
    ? Effect.succeed({ type: "text", text })
    : Effect.fail(OpenAiFailure.invalid(param, "expected a string"))

const imageOf = (
  { detail, file_id: file, image_url: url }: Part,
  param: string
): Effect.Effect<ContentPart, Failure> => {
  if (typeof url === "string")
    // Omitting the default detail keeps dialects identical.
    return Effect.succeed({
      type: "image_url",
      image_url: { url, ...(typeof detail === "string" && detail !== "auto" && { detail }) }
    })
  return Effect.fail(
    typeof file === "string"
      ? OpenAiFailure.unsupported(`${param}.file_id`, "uploaded files are not supported; pass the image as image_url")
      : OpenAiFailure.invalid(`${param}.image_url`, "expected a URL (https: or data:)")
  )
}
