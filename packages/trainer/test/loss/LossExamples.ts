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
  return lengths.map((length, i) => {
    const logprobs = () => Float32Array.from({ length }, (_, t) => (t < 3 ? 1 : -2.5 - uniform()))
    const candidates = Array.from({ length }, () => Math.floor(uniform() * 4))
    return {
      tokens: Int32Array.from({ length }, token),
      mask: Uint8Array.from({ length }, (_, t) => (t < 3 || t === 5 ? 0 : 1)),
      advantages: Float32Array.from({ length }, () => (i % 2 === 0 ? 1 : -1) * (0.5 + uniform())),
      engineLogprobs: logprobs(),
      refLogprobs: logprobs(),
      distillTokenIds: candidates.map((k) => Int32Array.from({ length: k }, (_, j) => (token() + j) % vocabulary)),
      distillLogprobs: candidates.map((k) => Float32Array.from({ length: k }, () => -1 - uniform())),
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
  })
]
