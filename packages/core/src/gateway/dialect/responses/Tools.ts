/**
 * Reads the tools of the Responses API. Only functions: tools that OpenAI runs itself (`web_search`, `file_search`, …)
 * are rejected by name. `strict` is ignored: answers are not constrained by a schema.
 */
import { Effect, Schema } from "effect"
import * as Normalize from "../Normalize.ts"
import type { Failure } from "../Dialect.ts"
import * as OpenAiFailure from "../OpenAiFailure.ts"
import * as Reading from "../Reading.ts"
import * as OutputConstraints from "../OutputConstraints.ts"

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

/** The request's tools, in the form of chat templates. */
export const decode = Effect.fnUntraced(function* (value: unknown): Effect.fn.Return<Tools, Failure> {
  const tools: Array<unknown> = []
  let isStrict = false
  for (const [at, tool] of (yield* readList(value ?? [], "tools")).entries()) {
    const param = `tools[${at}]`
    const { type } = yield* readKind(tool, param)
    if (type !== "function") {
      return yield* OpenAiFailure.unsupported(
        `${param}.type`,
        `a tool of type "${type}" is not supported; use a "function" and run it in your program`
      )
    }
    const { description, name, parameters, strict } = yield* readFunction(tool, param)
    isStrict ||= strict === true
    tools.push(
      Normalize.tool({
        name,
        ...(typeof description === "string" && { description }),
        ...(parameters !== undefined && parameters !== null && { parameters })
      })
    )
  }
  return { tools, ignored: isStrict ? ["tools.strict"] : [] }
})

export interface Choice {
  readonly toolChoice: "auto" | "none"
  readonly forced: OutputConstraints.OutputConstraint | undefined
}

const readNamed = Reading.reader(Schema.Struct({ type: Schema.Literal("function"), name: Schema.NonEmptyString }))

/** The request's tool choice; a forced call is an output constraint. */
export const decodeChoice = Effect.fnUntraced(function* (
  value: unknown,
  hasTools: boolean
): Effect.fn.Return<Choice, Failure> {
  if (value === undefined || value === "auto") return { toolChoice: "auto", forced: undefined }
  if (value === "none") return { toolChoice: "none", forced: undefined }
  if (typeof value === "string" && value !== "required") {
    return yield* OpenAiFailure.invalid("tool_choice", `expected "auto", "none", "required" or a function`)
  }
  const name = value === "required" ? undefined : (yield* readNamed(value, "tool_choice")).name
  if (!hasTools) return yield* OpenAiFailure.invalid("tool_choice", "the request has no tools")
  return { toolChoice: "auto", forced: OutputConstraints.choice("tool_choice", name) }
})
