/**
 * Reads and validates the parameters of completions: OpenAI's, and vLLM's if they mean the same here.
 *
 * Null equals absent. Unsupported parameters are rejected by name, unless they cannot change the answer (`user`,
 * `metadata`, …) or are off (`min_tokens: 0`). Ranges are OpenAI's, except any temperature from 0 up, and 20 logprobs
 * everywhere.
 */
import { Effect, Predicate, Schema, SchemaIssue } from "effect"
import { invalid, type OpenAiApiError, unsupported } from "./OpenAiApiError.ts"
import * as AnswerForm from "./AnswerForm.ts"
import * as SamplingRequest from "./SamplingRequest.ts"

export interface Body {
  readonly [parameter: string]: unknown
}

const between = (minimum: number, maximum: number) => Schema.isBetween({ minimum, maximum })
const maxLogprobs = 20
const Count = Schema.Int.check(Schema.isGreaterThan(0))
export const LogprobCount = Schema.Int.check(between(0, maxLogprobs))

export const samplingFields = {
  model: Schema.optionalKey(Schema.String),
  n: Schema.optionalKey(Schema.Int.check(between(1, SamplingRequest.maxChoices))),
  temperature: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))),
  top_p: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThan(0), Schema.isLessThanOrEqualTo(1))),
  top_k: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(-1))),
  min_p: Schema.optionalKey(Schema.Finite.check(between(0, 1))),
  repetition_penalty: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThan(0))),
  presence_penalty: Schema.optionalKey(Schema.Finite.check(between(-2, 2))),
  frequency_penalty: Schema.optionalKey(Schema.Finite.check(between(-2, 2))),
  logit_bias: Schema.optionalKey(Schema.Record(Schema.String, Schema.Finite.check(between(-100, 100)))),
  seed: Schema.optionalKey(Schema.Int),
  stop: Schema.optionalKey(
    Schema.Union([Schema.String, Schema.Array(Schema.String).check(Schema.isMaxLength(SamplingRequest.maxStops))])
  ),
  stop_token_ids: Schema.optionalKey(Schema.Array(Schema.Natural)),
  /** Output constraints, read by `AnswerForm`. */
  response_format: Schema.optionalKey(Schema.Unknown),
  structured_outputs: Schema.optionalKey(Schema.Unknown),
  guided_json: Schema.optionalKey(Schema.Unknown),
  ignore_eos: Schema.optionalKey(Schema.Boolean),
  include_stop_str_in_output: Schema.optionalKey(Schema.Boolean),
  skip_special_tokens: Schema.optionalKey(Schema.Boolean)
} as const

const answerFields = {
  stream: Schema.optionalKey(Schema.Boolean),
  stream_options: Schema.optionalKey(
    Schema.Struct({
      include_usage: Schema.optionalKey(Schema.Boolean),
      include_obfuscation: Schema.optionalKey(Schema.Boolean)
    })
  ),
  return_token_ids: Schema.optionalKey(Schema.Boolean),
  return_tokens_as_token_ids: Schema.optionalKey(Schema.Boolean)
} as const

/** `messages`, `tools` and prompts are read separately: long lists of numbers bypass the schema. */
export const Chat = Schema.Struct({
  ...samplingFields,
  ...answerFields,
  max_tokens: Schema.optionalKey(Count),
  max_completion_tokens: Schema.optionalKey(Count),
  logprobs: Schema.optionalKey(Schema.Boolean),
  top_logprobs: Schema.optionalKey(LogprobCount),
  add_generation_prompt: Schema.optionalKey(Schema.Boolean)
})

export const Text = Schema.Struct({
  ...samplingFields,
  ...answerFields,
  /** 0 with `echo`: logprobs of the prompt only. */
  max_tokens: Schema.optionalKey(Schema.Natural),
  logprobs: Schema.optionalKey(LogprobCount),
  echo: Schema.optionalKey(Schema.Boolean),
  add_special_tokens: Schema.optionalKey(Schema.Boolean)
})

export const Generate = Schema.Struct({
  ...samplingFields,
  max_tokens: Schema.optionalKey(Count),
  logprobs: Schema.optionalKey(LogprobCount),
  prompt_logprobs: Schema.optionalKey(LogprobCount)
})

const Sampled = Schema.Struct(samplingFields)
type Sampled = typeof Sampled.Type

const harmless: ReadonlySet<string> = new Set([
  "user",
  "metadata",
  "store",
  "service_tier",
  "safety_identifier",
  "prompt_cache_key",
  "prompt_cache_retention",
  "parallel_tool_calls",
  "priority",
  "request_id",
  "cache_salt",
  "spaces_between_special_tokens"
])

const isEmpty = (value: unknown): boolean =>
  value === "" || (typeof value === "object" && value !== null && Object.keys(value).length === 0)

/** Unsupported parameters, with the values that are accepted anyway. */
const neutralValues: { readonly [parameter: string]: (value: unknown, body: Body) => boolean } = {
  length_penalty: (value) => value === 1,
  min_tokens: (value) => value === 0,
  use_beam_search: (value) => value === false,
  early_stopping: (value) => value === false,
  best_of: (value, { n }) => value === (n ?? 1),
  bad_words: isEmpty,
  suffix: isEmpty,
  functions: isEmpty,
  function_call: (value) => value === "none",
  modalities: (value) => Array.isArray(value) && value.length === 1 && value[0] === "text",
  chat_template_kwargs: isEmpty,
  documents: isEmpty,
  continue_final_message: (value) => value === false,
  echo: (value) => value === false,
  stream: (value) => value === false
}
/** A map, because a parameter may have any name, including those that every object inherits. */
const neutral = new Map(Object.entries(neutralValues))

const format = SchemaIssue.makeFormatterStandardSchemaV1()

/** Reads the parameters of `schema`; the caller reads those of `apart`. */
export const reader = <A>(
  schema: Schema.Codec<A, unknown> & { readonly fields: Schema.Struct.Fields },
  apart: ReadonlyArray<string>
) => {
  const decode = Schema.decodeUnknownEffect(schema)
  const known = new Set([...Object.keys(schema.fields), ...apart])
  return (body: Body): Effect.Effect<A, OpenAiApiError> =>
    Effect.suspend(() => {
      const own: Record<string, unknown> = {}
      for (const [parameter, value] of Object.entries(body)) {
        if (known.has(parameter)) {
          if (!apart.includes(parameter)) own[parameter] = value
        } else if (!harmless.has(parameter) && neutral.get(parameter)?.(value, body) !== true) {
          return Effect.fail(refusal(parameter, value))
        }
      }
      return Effect.mapError(decode(own), (error) => {
        const [issue] = format(error.issue).issues
        const param = (issue?.path ?? []).map((step) => String(typeof step === "object" ? step.key : step)).join(".")
        return invalid(param, `${param}: ${issue?.message ?? error.message}`)
      })
    })
}

const refusal = (parameter: string, value: unknown): OpenAiApiError =>
  !neutral.has(parameter)
    ? unsupported(parameter, `unsupported parameter: '${parameter}'; remove it`)
    : unsupported(
        parameter,
        `'${parameter}' is only supported with the value that disables it; got ${describeValue(value)}`
      )

const describeValue = (value: unknown): string => {
  const text = JSON.stringify(value)
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}

/** The body without its nulls; fails unless it is an object. */
export const withoutNulls = (body: unknown): Effect.Effect<Body, OpenAiApiError> =>
  Predicate.isObject(body)
    ? Effect.succeed(Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null)))
    : Effect.fail(invalid(null, "the body must be a JSON object"))

export const sampling = (
  parameters: Sampled & { readonly max_tokens?: number }
): Effect.Effect<SamplingRequest.SamplingRequest, OpenAiApiError> =>
  Effect.map(AnswerForm.of(parameters), (schema) => ({
    ...numbers(parameters),
    ...(schema !== undefined && { schema })
  }))

const numbers = (parameters: Sampled & { readonly max_tokens?: number }): SamplingRequest.SamplingRequest => {
  const { max_tokens: maxTokens, min_p: minP, model, n, seed, stop, temperature, top_k: topK, top_p: topP } = parameters
  const { ignore_eos: ignoreEos, include_stop_str_in_output: includeStop } = parameters
  const { skip_special_tokens: skipSpecialTokens, stop_token_ids: stopTokenIds } = parameters
  const { frequency_penalty: frequencyPenalty, logit_bias: logitBias } = parameters
  const { presence_penalty: presencePenalty, repetition_penalty: repetitionPenalty } = parameters
  return {
    ...(model !== undefined && { model }),
    ...(n !== undefined && { n }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(topK !== undefined && { topK }),
    ...(minP !== undefined && { minP }),
    ...(frequencyPenalty !== undefined && { frequencyPenalty }),
    ...(logitBias !== undefined && { logitBias }),
    ...(presencePenalty !== undefined && { presencePenalty }),
    ...(repetitionPenalty !== undefined && { repetitionPenalty }),
    ...(seed !== undefined && { seed }),
    ...(stop !== undefined && { stop }),
    ...(stopTokenIds !== undefined && { stopTokenIds }),
    ...(ignoreEos !== undefined && { ignoreEos }),
    ...(includeStop !== undefined && { includeStop }),
    ...(skipSpecialTokens !== undefined && { skipSpecialTokens })
  }
}

/** True for a list of token ids; not a schema, because lists may be long. */
export const isTokenIds = (value: unknown): value is ReadonlyArray<number> =>
  Array.isArray(value) && value.every((id) => Number.isSafeInteger(id) && id >= 0)
