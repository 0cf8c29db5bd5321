/** Sequences of the toy policy's vocabulary, and objectives whose bounds leave some of their tokens free. */
import { Result } from "effect"
import type { TrainingSequence } from "../../src/learn/TrainingSequence.ts"
import { presetNames, type LossSettings, type PresetName } from "../../src/loss/LossSettings.ts"
import type { Objective } from "../../src/loss/Objective.ts"
import * as Preset from "../../src/loss/Preset.ts"
import { uniforms, vocabulary } from "./ToyPolicy.ts"

export const sequencesOf = (lengths: ReadonlyArray<number>, seed = 1): ReadonlyArray<TrainingSequence> => {
  const uniform = uniforms(seed)
  const token = () => Math.floor(uniform() * vocabulary)
  return lengths.map((length, i): TrainingSequence => {
    const tokens = Int32Array.from({ length }, token)
    // Neighbours make a pair; the last of an odd number has none.
    const partner = i % 2 === 0 ? i + 1 : i - 1
    const logprobs = () => Float32Array.from({ length }, (_, t) => (t < 3 ? 1 : -2.5 - uniform()))
    const candidates = Array.from({ length }, () => Math.floor(uniform() * 4))
    return {
      tokens,
      mask: Uint8Array.from({ length }, (_, t) => (t < 3 || t === 5 ? 0 : 1)),
      advantages: Float32Array.from({ length }, () => (i % 2 === 0 ? 1 : -1) * (0.5 + uniform())),
      engineLogprobs: logprobs(),
      refLogprobs: logprobs(),
      distillTokenIds: candidates.map((k, t) =>
        Int32Array.from({ length: k }, (_, j) => (j === 2 ? tokens[t]! : token()))
      ),
      distillLogprobs: candidates.map((k) => Float32Array.from({ length: k }, () => -1 - uniform())),
      ...(partner < lengths.length && { pair: { partner, preference: i % 2 === 0 ? (1 as const) : (-1 as const) } }),
      temperature: i % 3 === 0 ? 0.8 : 1,
      score: 0,
      policyVersion: null,
      group: 0
    }
  })
}

export const objectiveOf = (preset: PresetName, more: Partial<LossSettings> = {}): Objective =>
  Result.getOrThrow(Preset.resolve({ preset, ...more }))

/** Presets whose bounds leave some tokens free and bind others. */
export const objectives: ReadonlyArray<Objective> = [
  ...presetNames.map((preset) => objectiveOf(preset, preset === "gspo" ? { clipLow: 0.3, clipHigh: 0.3 } : {})),
  objectiveOf("grpo", { klCoef: 0.1, klImportance: true }),
  objectiveOf("dapo", { klCoef: 0.1, kl: "k2", oldPolicy: "trainer", importanceSampling: "truncated" }),
  objectiveOf("cispo", {
    klCoef: 0.1,
    kl: "k1",
    klImportance: true,
    oldPolicy: "trainer",
    importanceSampling: "masked"
  }),
  objectiveOf("grpo", {
    oldPolicy: "trainer",
    importanceSampling: "truncated",
    importanceLevel: "sequence",
    importanceCap: 1.5,
    importanceFloor: 0.5
  }),
  objectiveOf("sapo", { offPolicyBound: 0.1 }),
  objectiveOf("grpo", { entropyCoef: 0.2, entropyShare: 0.5 })
]

/** The sequences in another order, their pairs with them. */
export const reversed = (sequences: ReadonlyArray<TrainingSequence>): ReadonlyArray<TrainingSequence> =>
  sequences
    .toReversed()
    .map((sequence) =>
      sequence.pair === undefined
        ? sequence
        : { ...sequence, pair: { ...sequence.pair, partner: sequences.length - 1 - sequence.pair.partner } }
    )
