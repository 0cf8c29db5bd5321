/** Declares the user's loss settings: a preset by name, and changes to it. Null means the preset's value. */
import { Advantage, ScoreAdvantage } from "@atropos/core"
import { field } from "@atropos/core/base/Settings"
import { Schema } from "effect"

export const presetNames = [
  "grpo",
  "atropos",
  "dr-grpo",
  "dapo",
  "cispo",
  "gspo",
  "dppo",
  "reinforce++",
  "rloo",
  "seq-mis",
  "icepop",
  "sapo",
  "vespo",
  "sft",
  "distill",
  "on-policy-distill",
  "dpo"
] as const
export type PresetName = (typeof presetNames)[number]

const notNegative = Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))
const positive = Schema.Finite.check(Schema.isGreaterThan(0))

const change = <S extends Schema.Top & Schema.Codec<unknown, unknown>>(schema: S, description: string) =>
  field(Schema.NullOr(schema), null, `${description}; if unset, the preset's value`)

export const LossSettings = Schema.Struct({
  preset: field(Schema.Literals(presetNames), "grpo", "loss preset, or a file with a custom loss"),
  file: field(
    Schema.NullOr(Schema.NonEmptyString),
    null,
    "file whose default export is a custom loss, instead of a preset; --loss ./my-loss.ts"
  ),
  baseline: change(
    Schema.Literals(ScoreAdvantage.baselines),
    "baseline of scores: the mean of the group, of the rest of the group (leave-one-out), of the batch, or none"
  ),
  advantageScale: change(
    Advantage.Scale,
    "divisor of advantages: the group's sample or population standard deviation, the batch's sample standard deviation (batch-std), or none"
  ),
  maskTruncated: change(Schema.Boolean, "do not train on sequences truncated at the token limit"),
  dropConstantGroups: change(Schema.Boolean, "drop groups in which all scores are equal"),
  aggregation: change(Schema.Literals(["sequence-mean", "token-mean", "constant"]), "how token losses are aggregated"),
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
  importanceLevel: change(
    Schema.Literals(["token", "sequence"]),
    "level of that correction: each token, or whole sequences by the product of their tokens' weights"
  ),
  importanceCap: change(Schema.Finite.check(Schema.isGreaterThanOrEqualTo(1)), "upper bound C of that correction"),
  importanceFloor: change(
    notNegative,
    "lower bound c of that correction; if unset, the preset's, else 1/C for masked and 0 for truncated"
  ),
  kl: change(Schema.Literals(["k1", "k2", "k3"]), "estimator of the KL divergence from the reference model"),
  klCoef: change(notNegative, "weight of the KL penalty in the loss; 0: off, without a reference model"),
  klImportance: change(Schema.Boolean, "weight the KL penalty by the importance ratio"),
  offPolicyBound: change(
    notNegative,
    "drop negative-advantage sequences whose logprobs differ from the engine's by more than this, in nats per token"
  ),
  entropyCoef: change(notNegative, "weight of an entropy bonus in the loss; 0: off"),
  entropyShare: change(
    positive.check(Schema.isLessThanOrEqualTo(1)),
    "fraction of the batch's tokens, highest entropy first, that are trained on; 1: all"
  ),
  sapoTauPositive: change(positive, "how sharply the gate of sapo closes for good tokens"),
  sapoTauNegative: change(positive, "how sharply the gate of sapo closes for bad tokens"),
  vespoPowerPositive: change(notNegative, "power k of the weight of good sequences (vespo)"),
  vespoDecayPositive: change(positive, "decay lambda of the weight of good sequences (vespo)"),
  vespoPowerNegative: change(notNegative, "power k of the weight of bad sequences (vespo)"),
  vespoDecayNegative: change(positive, "decay lambda of the weight of bad sequences (vespo)"),
  dpoBeta: change(positive, "weight of the distance to the reference (dpo)")
})
export type LossSettings = typeof LossSettings.Type
