/**
 * Sampling parameters, declared once for settings, requests and records of what was sampled; in text under vLLM's
 * names: `{ "min_p": 0.05, "top_k": 40 }`.
 *
 * Ranges are those of OpenAI and vLLM. Absent parameters are left to the caller.
 */
import { Schema, Struct } from "effect"

const between = (minimum: number, maximum: number) => Schema.isBetween({ minimum, maximum })
const Penalty = Schema.Finite.check(between(-2, 2))

/** vLLM's names. */
export const wireNames = {
  topP: "top_p",
  topK: "top_k",
  minP: "min_p",
  repetitionPenalty: "repetition_penalty",
  presencePenalty: "presence_penalty",
  frequencyPenalty: "frequency_penalty",
  logitBias: "logit_bias",
  maxTokens: "max_tokens"
} as const

const fields = {
  /** 0: greedy. */
  temperature: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))),
  topP: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThan(0), Schema.isLessThanOrEqualTo(1))),
  /** Number of most likely tokens; 0: all. */
  topK: Schema.optionalKey(Schema.Natural),
  /** Min probability as a fraction of the most likely token's; 0: all. */
  minP: Schema.optionalKey(Schema.Finite.check(between(0, 1))),
  /** Divides positive logits of tokens in the prompt or answer, multiplies negative ones; 1: off. */
  repetitionPenalty: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThan(0))),
  /** Subtracted from the logits of tokens already in the answer; 0: off. */
  presencePenalty: Schema.optionalKey(Penalty),
  /** Subtracted once per occurrence in the answer; 0: off. */
  frequencyPenalty: Schema.optionalKey(Penalty),
  /** Added to logits, by token id. */
  logitBias: Schema.optionalKey(
    Schema.Record(Schema.String.check(Schema.isPattern(/^\d+$/)), Schema.Finite.check(between(-100, 100)))
  ),
  maxTokens: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThan(0))),
  seed: Schema.optionalKey(Schema.Int),
  stop: Schema.optionalKey(Schema.Array(Schema.String))
}

export const SamplingSettings = Schema.Struct(fields).pipe(Schema.encodeKeys(wireNames))
export type SamplingSettings = typeof SamplingSettings.Type

/** All parameters. */
export const parameters = Struct.keys(fields)

/** Those that change logits one by one. */
export const adjustments = ["repetitionPenalty", "presencePenalty", "frequencyPenalty", "logitBias"] as const

/** Those that change the distribution. */
export type Distribution = Omit<SamplingSettings, "maxTokens" | "seed" | "stop">
