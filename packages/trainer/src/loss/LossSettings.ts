/** What a user may set of the loss: a preset by name, and changes to it. A null means the preset's own value. */
import { Advantage, ScoreAdvantage } from "@atropos/core"
import { field } from "@atropos/core/base/Settings"
import { Schema } from "effect"

export const presetNames = ["grpo", "atropos", "dr-grpo", "dapo", "cispo", "gspo", "dppo", "sft", "distill"] as const
export type PresetName = (typeof presetNames)[number]

const notNegative = Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))
const positive = Schema.Finite.check(Schema.isGreaterThan(0))

/** A field that is the preset's own unless given. */
const change = <S extends Schema.Top & Schema.Codec<unknown, unknown>>(schema: S, description: string) =>
  field(Schema.NullOr(schema), null, `${description}; if unset, the preset's value`)

export const LossSettings = Schema.Struct({
  preset: field(Schema.Literals(presetNames), "grpo", "loss preset"),
  baseline: change(
    Schema.Literals(ScoreAdvantage.baselines),
    "baseline that scores are compared with: the mean of the group, of the group's others (leave-one-out), or none"
  ),
  advantageScale: change(
    Advantage.Scale,
    "what advantages are divided by: the group's sample or population standard deviation, or nothing (none)"
  ),
  maskTruncated: change(Schema.Boolean, "do not train on sequences that were cut off at the token limit"),
  dropConstantGroups: change(Schema.Boolean, "leave out groups in which all scores are equal"),
  aggregation: change(Schema.Literals(["sequence-mean", "token-mean", "constant"]), "how token losses are combined"),
  divisorTokens: change(positive, "number of tokens to divide by, for the aggregation constant"),
  clipLow: change(notNegative, "lower clip range of the ratio (dppo: of the probability)"),
  clipHigh: change(notNegative, "upper clip range of the ratio (dppo: of the probability)"),
  ratioCap: change(positive, "upper bound on the weight of a token's gradient (dppo)"),
  oldPolicy: change(
    Schema.Literals(["engine", "trainer"]),
    "logprobs the ratio is taken against: those recorded during sampling (engine), or the trainer's own before the first update with a batch (trainer)"
  ),
  importanceSampling: change(
    Schema.Literals(["none", "truncated", "masked"]),
    "correction for differences between the engine's and the trainer's logprobs"
  ),
  importanceCap: change(Schema.Finite.check(Schema.isGreaterThanOrEqualTo(1)), "upper bound C of that correction"),
  kl: change(Schema.Literals(["k1", "k2", "k3"]), "estimator of the KL divergence from the reference model"),
  klCoef: change(notNegative, "weight of the KL penalty in the loss; 0 turns it off, and no reference model is run"),
  klImportance: change(Schema.Boolean, "weight the KL penalty by the importance ratio")
})
export type LossSettings = typeof LossSettings.Type
