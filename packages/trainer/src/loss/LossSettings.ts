/** What a user may set of the loss: a preset by name, and changes to it. A null means the preset's own value. */
import { Advantage, ScoreAdvantage } from "@atropos/core"
import { field } from "@atropos/core/EnvironmentSettings"
import { Schema } from "effect"

export const presetNames = ["grpo", "atropos", "dr-grpo", "dapo", "cispo", "gspo", "dppo", "sft", "distill"] as const
export type PresetName = (typeof presetNames)[number]

const notNegative = Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))
const positive = Schema.Finite.check(Schema.isGreaterThan(0))

/** A field that is the preset's own unless given. */
const change = <S extends Schema.Top & Schema.Codec<unknown, unknown>>(schema: S, description: string) =>
  field(Schema.NullOr(schema), null, `${description}; null: the preset's own`)

export const LossSettings = Schema.Struct({
  preset: field(Schema.Literals(presetNames), "grpo", "loss, by name"),
  baseline: change(Schema.Literals(ScoreAdvantage.baselines), "what scores are compared with"),
  advantageScale: change(
    Advantage.Scale,
    "what advantages are divided by: the group's sample or population standard deviation, or nothing"
  ),
  maskTruncated: change(Schema.Boolean, "learn nothing from sequences that ended at the token limit"),
  dropConstantGroups: change(Schema.Boolean, "leave out groups whose scores are all equal"),
  aggregation: change(Schema.Literals(["sequence-mean", "token-mean", "constant"]), "how tokens' losses become one"),
  divisorTokens: change(positive, "tokens that sequences are divided by under `constant`"),
  clipLow: change(notNegative, "how far the ratio (dppo: the probability) may fall"),
  clipHigh: change(notNegative, "how far the ratio (dppo: the probability) may rise"),
  ratioCap: change(positive, "largest factor of a token's gradient (dppo)"),
  oldPolicy: change(
    Schema.Literals(["engine", "current"]),
    "whose logprobs the ratio is taken against: those recorded while sampling, or the present ones"
  ),
  importanceSampling: change(
    Schema.Literals(["none", "truncated", "masked"]),
    "correct for the engine's logprobs not being the trainer's"
  ),
  importanceCap: change(Schema.Finite.check(Schema.isGreaterThanOrEqualTo(1)), "bound C of that correction"),
  kl: change(Schema.Literals(["k1", "k2", "k3"]), "estimator of the divergence from the reference model"),
  klCoef: change(notNegative, "weight of that divergence in the loss; 0: off, and no reference is computed"),
  klImportance: change(Schema.Boolean, "weight the divergence with the ratio")
})
export type LossSettings = typeof LossSettings.Type
