/**
 * Reads the parameters of a Chat Completions request other than messages and tools.
 *
 * Null is the same as absent. Unsupported parameters are rejected by name, unless their value turns them off
 * (`logprobs: false`). Parameters that do not affect sampling are ignored, and reported as such: user, billing and
 * storage, `reasoning_effort` and `verbosity`, and unknown ones (`UnknownParameters`).
 *
 * Output constraints (`response_format`, `parallel_tool_calls: false`, a
 * forced tool) are passed on as in `OutputConstraints`: if tokens are recorded, the answer is sampled without them, so
 * that a trainer can compute its probability.
 */
import { Effect, Predicate } from "effect"
import type { SamplingOptions } from "../../../inference/wire/Inference.ts"
import type { LogitBias } from "../../../trajectory/Sampling.ts"
import { Failure } from "../Dialect.ts"
import { invalid, unsupported } from "../OpenAiFailure.ts"
import * as OutputConstraints from "../OutputConstraints.ts"
import * as UnknownParameters from "../UnknownParameters.ts"

export interface Body {
  readonly [parameter: string]: unknown
}

export interface Parameters {
  readonly sampling: SamplingOptions
  readonly isStreamed: boolean
  readonly isUsageAsked: boolean
  readonly ignored: ReadonlyArray<string>
  readonly constraints: ReadonlyArray<OutputConstraints.OutputConstraint | undefined>
}

const maxChoices = 128
const maxStops = 16

/** Read elsewhere. */
const apart = new Set(["messages", "tools", "tool_choice"])

/** No effect on sampling. */
const harmless = new Set([
  "metadata",
  "moderation",
  "prediction",
  "prompt_cache_key",
  "prompt_cache_options",
  "prompt_cache_retention",
  "reasoning_effort",
  "safety_identifier",
  "service_tier",
  "store",
  "user",
  "verbosity"
])

/** A Map, because parameters may have any name, including those inherited by every object. */
const byName = <A>(values: { readonly [parameter: string]: A }): ReadonlyMap<string, A> =>
  new Map(Object.entries(values))

/** Unsupported parameters with their permitted values. */
const neutral = byName<(value: unknown) => boolean>({
  audio: () => false,
  function_call: (value) => value === "none" || value === "auto",
  functions: UnknownParameters.isEmpty,
  logprobs: (value) => value === false,
  modalities: (value) => Array.isArray(value) && value.every((one) => one === "text"),
  top_logprobs: (value) => value === 0,
  web_search_options: () => false
})

/** Explanations, if the name is not sufficient. */
const reasons = byName<string>({
  function_call: "use tool_choice",
  functions: "use tools",
  logprobs: "the logprobs of every token are recorded with the session",
  parallel_tool_calls: "parallel tool calls cannot be disabled: say so in the model's instructions",
  top_logprobs: "the logprobs of every token are recorded with the session"
})

type Check = (value: unknown) => boolean

const isFinite = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value)
const isWhole = (value: unknown): value is number => Number.isSafeInteger(value)

interface Kind {
  readonly is: Check
  readonly right: string
}

const count: Kind = { is: (value) => isWhole(value) && value > 0, right: "a whole number above 0" }
const boolean: Kind = { is: (value) => typeof value === "boolean", right: "true or false" }

const penalty: Kind = { is: (value) => isFinite(value) && Math.abs(value) <= 2, right: "a number from -2 to 2" }

const isBias = (value: unknown): value is LogitBias =>
  Predicate.isReadonlyObject(value) &&
  Object.entries(value).every(([id, bias]) => /^\d+$/.test(id) && isFinite(bias) && Math.abs(bias) <= 100)

const kinds = byName<Kind>({
  frequency_penalty: penalty,
  logit_bias: { is: isBias, right: "an object of token ids with numbers from -100 to 100" },
  max_completion_tokens: count,
  max_tokens: count,
  min_p: { is: (value) => isFinite(value) && value >= 0 && value <= 1, right: "a number from 0 to 1" },
  model: { is: (value) => typeof value === "string", right: "a string (any value)" },
  n: {
    is: (value) => isWhole(value) && value > 0 && value <= maxChoices,
    right: `a whole number from 1 to ${maxChoices}`
  },
  seed: { is: isWhole, right: "a whole number" },
  stop: {
    is: (value) =>
      typeof value === "string" ||
      (Array.isArray(value) && value.length <= maxStops && value.every((one) => typeof one === "string")),
    right: `a string, or at most ${maxStops} of them`
  },
  parallel_tool_calls: boolean,
  presence_penalty: penalty,
  repetition_penalty: { is: (value) => isFinite(value) && value > 0, right: "a number above 0" },
  stream: boolean,
  stream_options: { is: Predicate.isReadonlyObject, right: "an object" },
  temperature: { is: (value) => isFinite(value) && value >= 0, right: "a number from 0" },
  top_k: { is: (value) => isWhole(value) && value >= -1, right: "a whole number from -1" },
  top_p: { is: (value) => isFinite(value) && value > 0 && value <= 1, right: "a number above 0, at most 1" }
})

export const describeValue = (value: unknown): string => {
  const text = JSON.stringify(value) ?? "nothing"
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}

const refusal = (parameter: string, value: unknown): Failure => {
  const reason = reasons.get(parameter)
  const why = reason === undefined ? "" : ` (${reason})`
  return unsupported(parameter, `${describeValue(value)} is not supported${why}; remove it`)
}

export const withoutNulls = (body: unknown): Effect.Effect<Body, Failure> =>
  Predicate.isReadonlyObject(body)
    ? Effect.succeed(Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null)))
    : Effect.fail(new Failure({ reason: "invalid", message: "the body must be a JSON object" }))

/** The names of ignored parameters; fails on unsupported and invalid ones. */
const check = Effect.fnUntraced(function* (body: Body) {
  const ignored: Array<string> = []
  for (const [parameter, value] of Object.entries(body)) {
    if (apart.has(parameter)) continue
    const kind = kinds.get(parameter)
    if (kind !== undefined) {
      if (!kind.is(value)) return yield* invalid(parameter, `expected ${kind.right}, got ${describeValue(value)}`)
    } else if (harmless.has(parameter)) ignored.push(parameter)
    else if (parameter === "response_format") yield* isJsonAsked(value)
    else if (neutral.has(parameter)) {
      if (neutral.get(parameter)?.(value) !== true) return yield* refusal(parameter, value)
    } else {
      const why = UnknownParameters.refusal(parameter, value, (name) => kinds.has(name))
      if (why !== undefined) return yield* unsupported(parameter, why)
      ignored.push(parameter)
    }
  }
  return ignored
})

const formats = new Set(["json_object", "json_schema"])

const isJsonAsked = (format: unknown): Effect.Effect<boolean, Failure> => {
  const type = Predicate.hasProperty(format, "type") ? format.type : undefined
  if (type === "text") return Effect.succeed(false)
  return typeof type === "string" && formats.has(type)
    ? Effect.succeed(true)
    : Effect.fail(
        invalid(
          "response_format",
          `expected an object with the type text, json_object or json_schema, got ${describeValue(format)}`
        )
      )
}

const isUsageAsked = Effect.fnUntraced(function* ({ stream, stream_options: options }: Body) {
  if (!Predicate.isReadonlyObject(options)) return false
  if (stream !== true) return yield* invalid("stream_options", "only allowed with stream: true")
  for (const [option, value] of Object.entries(options)) {
    const param = `stream_options.${option}`
    if (option !== "include_usage" && option !== "include_obfuscation") {
      return yield* unsupported(param, "unknown option; remove it")
    }
    if (value !== null && typeof value !== "boolean") {
      return yield* invalid(param, `expected true or false, got ${describeValue(value)}`)
    }
  }
  return options["include_usage"] === true
})

export const read = Effect.fnUntraced(function* (body: Body): Effect.fn.Return<Parameters, Failure> {
  const ignored = yield* check(body)
  return {
    sampling: samplingOf(body),
    isStreamed: body["stream"] === true,
    isUsageAsked: yield* isUsageAsked(body),
    ignored,
    constraints: [
      body["parallel_tool_calls"] === false ? OutputConstraints.singleCall("parallel_tool_calls") : undefined,
      (yield* isJsonAsked(body["response_format"] ?? { type: "text" }))
        ? OutputConstraints.responseFormat("response_format", body["response_format"])
        : undefined
    ]
  }
})

/** Numbers by our names; of two aliases the later one takes precedence. */
const numbers = [
  ["max_tokens", "maxTokens"],
  ["max_completion_tokens", "maxTokens"],
  ["min_p", "minP"],
  ["n", "n"],
  ["seed", "seed"],
  ["temperature", "temperature"],
  ["top_p", "topP"],
  ["frequency_penalty", "frequencyPenalty"],
  ["presence_penalty", "presencePenalty"],
  ["repetition_penalty", "repetitionPenalty"]
] as const

const samplingOf = (body: Body): SamplingOptions => {
  const numberOf = (parameter: string) => {
    const value = body[parameter]
    return typeof value === "number" ? value : undefined
  }
  const entries = numbers.flatMap(([parameter, name]) => {
    const value = numberOf(parameter)
    return value === undefined ? [] : [[name, value] as const]
  })
  const topK = numberOf("top_k")
  const { logit_bias: bias, stop } = body
  const stops = typeof stop === "string" ? [stop] : Array.isArray(stop) ? stop.map(String) : []
  return {
    ...(Object.fromEntries(entries) satisfies SamplingOptions),
    ...(topK !== undefined && { topK: Math.max(0, topK) }),
    ...(stops.length > 0 && { stop: stops }),
    ...(isBias(bias) && !UnknownParameters.isEmpty(bias) && { logitBias: bias })
  }
}
