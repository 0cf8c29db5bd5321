/**
 * Exposes the tools of an MCP environment to the model: `list_tools` after a reset, `call_tool` for each.
 *
 * A tool's error is shown to the model; a failing server fails the rollout.
 */
import { ExactJson } from "@atropos/core"
import * as Tool from "../kit/tools/Tool.ts"
import { Effect, Predicate, Result, Schema } from "effect"
import type { Connection, Observed } from "./Connection.ts"
import { make as failed, type OpenEnvError } from "./OpenEnvError.ts"
import * as Visible from "./Visible.ts"

const Listed = Schema.Struct({
  tools: Schema.Array(
    Schema.Struct({
      name: Schema.NonEmptyString,
      description: Schema.optionalKey(Schema.NullOr(Schema.String)),
      input_schema: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
      inputSchema: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown))
    })
  )
})
const decodeListed = Schema.decodeUnknownEffect(Listed)

type Values = { readonly [name: string]: unknown }
const isObject = (value: unknown): value is Values =>
  Predicate.isReadonlyObject(value) && !Array.isArray(value) && !(value instanceof ExactJson.Numeral)

/** A JSON text may contain an answer, too. */
const seenText = (text: string, isHidden: Visible.IsHidden): string => {
  const json = Result.getOrUndefined(Result.try(() => ExactJson.parseWritten(text)))
  return isObject(json) ? Visible.words(Visible.of(json, isHidden)) : text
}

/** The text of a result's MCP parts; other parts are named. */
const partsOf = (content: ReadonlyArray<unknown>, isHidden: Visible.IsHidden): string =>
  content
    .map((part) => {
      if (!isObject(part)) return ""
      const { text, type } = part
      return typeof text === "string" ? seenText(text, isHidden) : `[${typeof type === "string" ? type : "part"}]`
    })
    .join("\n")

/** Formats a result: its data if the server sends it, else its parts. */
export const resultWords = (result: unknown, isHidden: Visible.IsHidden): string => {
  if (!isObject(result)) return typeof result === "string" ? seenText(result, isHidden) : Visible.words(result)
  const { content, data } = result
  if (data !== undefined && data !== null) {
    return typeof data === "string" ? seenText(data, isHidden) : Visible.words(Visible.of(data, isHidden))
  }
  if (Array.isArray(content)) return partsOf(content, isHidden)
  return Visible.words(Visible.of(result, isHidden))
}

/** A failed call's error message from the tool; undefined if it succeeded. */
const faultOf = ({ error, result }: Values, isHidden: Visible.IsHidden): string | undefined => {
  if (isObject(error)) return typeof error["message"] === "string" ? error["message"] : Visible.words(error)
  return isObject(result) && (result["is_error"] === true || result["isError"] === true)
    ? resultWords(result, isHidden)
    : undefined
}

/** The tools of the latest episode; `onStep` receives every response. */
export const tools = Effect.fn("OpenEnv.tools")(function* (
  connection: Connection,
  isHidden: Visible.IsHidden,
  onStep: (observed: Observed) => void
) {
  const { observation } = yield* connection.step({ type: "list_tools" })
  const { tools: listed } = yield* Effect.mapError(decodeListed(observation), ({ message }) =>
    failed("foreign", `the server's list of tools is not in OpenEnv's format: ${message}`)
  )
  return listed.map(({ description, inputSchema, input_schema: parameters, name }): Tool.Tool<OpenEnvError> => ({
    name,
    description: description ?? "",
    parameters: parameters ?? inputSchema ?? { type: "object", properties: {} },
    run: Effect.fn("OpenEnv.call")(function* (args) {
      const observed = yield* connection.step({ type: "call_tool", tool_name: name, arguments: args }).pipe(
        Effect.catchIf(
          ({ reason }) => reason === "invalid",
          ({ message }) => Effect.fail(new Tool.ToolError({ message }))
        )
      )
      onStep(observed)
      const fault = faultOf(observed.observation, isHidden)
      if (fault !== undefined) return yield* new Tool.ToolError({ message: fault })
      return resultWords(observed.observation["result"], isHidden)
    })
  }))
})
