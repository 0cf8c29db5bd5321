/**
 * Reads the parameters of `POST /responses`: which are honoured, ignored or rejected.
 *
 * Null is the same as absent. Parameters without effect on an answer, or specific to OpenAI's service, are ignored and
 * reported, as are text formats, which the client validates itself, and unknown ones (`UnknownParameters`).
 */
import { Effect, Predicate, Schema } from "effect"
import { Failure } from "../Dialect.ts"
import * as OpenAiFailure from "../OpenAiFailure.ts"
import * as Reading from "../Reading.ts"
import * as OutputConstraints from "../OutputConstraints.ts"
import * as UnknownParameters from "../UnknownParameters.ts"

const key = Schema.optionalKey
const nullable = <S extends Schema.Top>(schema: S) => key(Schema.NullOr(schema))
const summaries = Schema.Literals(["auto", "concise", "detailed"])

const Parameters = Schema.Struct({
  model: key(Schema.String),
  instructions: key(Schema.String),
  previous_response_id: key(Schema.String),
  store: key(Schema.Boolean),
  stream: key(Schema.Boolean),
  max_output_tokens: key(Schema.Int.check(Schema.isGreaterThan(0))),
  temperature: key(Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))),
  top_p: key(Schema.Finite.check(Schema.isGreaterThan(0), Schema.isLessThanOrEqualTo(1))),
  parallel_tool_calls: key(Schema.Boolean),
  metadata: key(Schema.Record(Schema.String, Schema.String)),
  truncation: key(Schema.Literals(["auto", "disabled"])),
  include: key(Schema.Array(Schema.String)),
  reasoning: key(
    Schema.Struct({
      effort: nullable(Schema.String),
      context: nullable(Schema.String),
      summary: nullable(summaries),
      generate_summary: nullable(summaries)
    })
  ),
  text: key(
    Schema.Struct({
      format: nullable(
        Schema.StructWithRest(Schema.Struct({ type: Schema.String }), [Schema.Record(Schema.String, Schema.Unknown)])
      ),
      verbosity: nullable(Schema.String)
    })
  ),
  top_logprobs: key(Schema.Int),
  background: key(Schema.Boolean)
})
export type Parameters = typeof Parameters.Type

const apart = ["input", "tools", "tool_choice"] as const

const harmless: ReadonlySet<string> = new Set([
  "client_metadata",
  "user",
  "safety_identifier",
  "prompt_cache_key",
  "prompt_cache_retention",
  "prompt_cache_options",
  "service_tier",
  "stream_options",
  "max_tool_calls"
])

/** Unsupported parameters, and alternatives. */
const advice: ReadonlyMap<string, string> = new Map(
  Object.entries({
    conversation: "send the items, or previous_response_id",
    prompt: "send the prompt's text as instructions or input",
    context_management: "the agent decides what its input contains",
    n: "a response has one answer; send another request",
    stop: "a response has no stop strings; cut its text in your program",
    messages: "use input",
    max_tokens: "use max_output_tokens",
    response_format: "use text.format"
  })
)

/** A request's parameters, and those read by other modules. */
export interface Read {
  readonly parameters: Parameters
  readonly apart: { readonly [parameter in (typeof apart)[number]]?: unknown }
  readonly ignored: ReadonlyArray<string>
}

const known = new Set<string>([...Object.keys(Parameters.fields), ...apart])
const read = Reading.reader(Parameters)

export const decode = Effect.fnUntraced(function* (body: unknown): Effect.fn.Return<Read, Failure> {
  if (!Predicate.isReadonlyObject(body) || Array.isArray(body))
    return yield* new Failure({ reason: "invalid", message: "the body must be a JSON object" })
  const own: Record<string, unknown> = {}
  const others: Record<string, unknown> = {}
  const ignored: Array<string> = []
  for (const [parameter, value] of Object.entries(body)) {
    if (value === null) continue
    if (harmless.has(parameter) || (!known.has(parameter) && UnknownParameters.isUsual(parameter, value)))
      ignored.push(parameter)
    else if (!known.has(parameter)) {
      const instead = advice.get(parameter)
      const why =
        instead === undefined
          ? UnknownParameters.refusal(parameter, value, (name) => known.has(name))
          : `this parameter is not supported; ${instead}`
      if (why !== undefined) return yield* OpenAiFailure.unsupported(parameter, why)
      ignored.push(parameter)
    } else if (Object.hasOwn(Parameters.fields, parameter)) own[parameter] = value
    else others[parameter] = value
  }
  const parameters = yield* read(own, "")
  yield* check(parameters)
  return { parameters, apart: others, ignored: [...ignored, ...passedOver(parameters)] }
})

/** Rejects unsupported values. */
const check = Effect.fnUntraced(function* ({
  background,
  include = [],
  text,
  top_logprobs: logprobs = 0
}: Parameters): Effect.fn.Return<void, Failure> {
  if (background === true)
    return yield* OpenAiFailure.unsupported("background", "background responses are not supported")
  if (logprobs !== 0 || include.includes("message.output_text.logprobs"))
    return yield* OpenAiFailure.unsupported(
      logprobs === 0 ? "include" : "top_logprobs",
      "logprobs are not returned; the session records those of every token"
    )
  const format = text?.format?.type ?? "text"
  if (format !== "text" && format !== "json_object" && format !== "json_schema")
    return yield* OpenAiFailure.invalid("text.format.type", `expected text, json_object or json_schema, got ${format}`)
})

const passedOver = ({ include = [], reasoning, text, truncation }: Parameters): ReadonlyArray<string> => [
  ...(truncation === "auto" ? ["truncation"] : []),
  ...(include.some((one) => one !== "reasoning.encrypted_content") ? ["include"] : []),
  ...(isSaid(reasoning?.effort) ? ["reasoning.effort"] : []),
  ...(isSaid(reasoning?.context) ? ["reasoning.context"] : []),
  ...(isSaid(text?.verbosity) ? ["text.verbosity"] : [])
]

export const constraints = ({ parallel_tool_calls: isParallel, text }: Parameters) => [
  isParallel === false ? OutputConstraints.singleCall("parallel_tool_calls") : undefined,
  isSaid(text?.format) && text.format.type !== "text"
    ? OutputConstraints.jsonSchema("text.format", text.format)
    : undefined
]

const isSaid = <A>(value: A | null | undefined): value is A => value !== null && value !== undefined
