/**
 * Sampling parameters of settings and requests, under vLLM's names: `{ "min_p": 0.05, "top_k": 40 }`.
 *
 * Ranges are those of OpenAI and vLLM. Absent parameters are left to the caller.
 */
import { Schema } from "effect"

const between = (minimum: number, maximum: number) => Schema.isBetween({ minimum, maximum })
const Penalty = Schema.Finite.check(between(-2, 2))

export const SamplingSettings = Schema.Struct({
  temperature: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))),
  topP: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThan(0), Schema.isLessThanOrEqualTo(1))),
  topK: Schema.optionalKey(Schema.Natural),
  minP: Schema.optionalKey(Schema.Finite.check(between(0, 1))),
  repetitionPenalty: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThan(0))),
  presencePenalty: Schema.optionalKey(Penalty),
  frequencyPenalty: Schema.optionalKey(Penalty),
  logitBias: Schema.optionalKey(
    Schema.Record(Schema.String.check(Schema.isPattern(/^\d+$/)), Schema.Finite.check(between(-100, 100)))
  ),
  maxTokens: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThan(0))),
  seed: Schema.optionalKey(Schema.Int),
  stop: Schema.optionalKey(Schema.Array(Schema.String))
}).pipe(
  Schema.encodeKeys({
    topP: "top_p",
    topK: "top_k",
    minP: "min_p",
    repetitionPenalty: "repetition_penalty",
    presencePenalty: "presence_penalty",
    frequencyPenalty: "frequency_penalty",
    logitBias: "logit_bias",
    maxTokens: "max_tokens"
  })
)
export type SamplingSettings = typeof SamplingSettings.Type
