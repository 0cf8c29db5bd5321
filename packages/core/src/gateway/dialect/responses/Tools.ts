/**
 * Tools of the Responses API. Functions alone: tools that OpenAI runs itself (`web_search`, `file_search`, …) are
 * refused by name, as there is nobody to run them. `strict` is passed over: an answer is never held to a schema.
 */
import { Effect, Schema } from "effect"
import * as Canon from "../Canon.ts"
import type { Failure } from "../Dialect.ts"
import * as OpenAiFailure from "../OpenAiFailure.ts"
import * as Reading from "../Reading.ts"

const readKind = Reading.reader(Schema.Struct({ type: Schema.NonEmptyString }))
const readFunction = Reading.reader(
  Schema.Struct({
    name: Schema.NonEmptyString,
    description: Schema.optionalKey(Schema.NullOr(Schema.String)),
    parameters: Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown))),
    strict: Schema.optionalKey(Schema.NullOr(Schema.Boolean))
  })
)
const readList = Reading.reader(Schema.Array(Schema.Unknown))

export interface Tools {
  readonly tools: ReadonlyArray<unknown>
  readonly ignored: ReadonlyArray<string>
}

/** The request's tools, as chat templates write them. */
export const decode = Effect.fnUntraced(function* (value: unknown): Effect.fn.Return<Tools, Failure> {
  const tools: Array<unknown> = []
  let isStrict = false
  for (const [at, tool] of (yield* readList(value ?? [], "tools")).entries()) {
    const param = `tools[${at}]`
    const { type } = yield* readKind(tool, param)
    if (type !== "function") {
      return yield* OpenAiFailure.unsupported(
        `${param}.type`,
        `a tool of type "${type}" cannot be run here; give a "function" and run it yourself`
      )
    }
    const { description, name, parameters, strict } = yield* readFunction(tool, param)
    isStrict ||= strict === true
    tools.push(
      Canon.tool({
        name,
        ...(typeof description === "string" && { description }),
        ...(parameters !== undefined && parameters !== null && { parameters })
      })
    )
  }
  return { tools, ignored: isStrict ? ["tools.strict"] : [] }
})

/** What the request says of calling tools: auto or none; the model cannot be made to call one. */
export const decodeChoice = (value: unknown): Effect.Effect<"auto" | "none", Failure> => {
  if (value === undefined) return Effect.succeed("auto")
  if (value === "auto" || value === "none") return Effect.succeed(value)
  const said = typeof value === "object" && value !== null && "type" in value ? value.type : value
  if (typeof said !== "string")
    return Effect.fail(OpenAiFailure.invalid("tool_choice", `expected "auto", "none" or an object with a type`))
  return Effect.fail(
    OpenAiFailure.unsupported("tool_choice", `"${said}" cannot be forced on the model; use "auto" or "none"`)
  )
}
