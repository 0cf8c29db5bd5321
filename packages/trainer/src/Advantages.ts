/**
 * Advantages of a scored group, one per token, as the loss wants them.
 *
 * A sequence's score becomes one number for all its tokens; where the environment gives advantages per token, those are used as
 * they are. The rules, with r the group's scores:
 *
 *     group          A_i = (r_i - mean(r)) / d (GRPO, arXiv 2402.03300, section 4.1.2)
 *     leave-one-out  A_i = (r_i - mean of the others) / d = G / (G - 1) (r_i - mean(r)) / d (RLOO, arXiv 2402.14740, equation 8)
 *     none           A_i = r_i
 *
 * d is what `advantageScale` says (`Advantage.Scale` in core): a standard deviation, or 1.
 * A group of one has nothing to compare with: its score is its advantage, as in the original (example_trainer/data.py). Scores that
 * differ by no more than rounding are equal: their advantages are 0, where the original divided rounding errors by 1e-8.
 * A given row of one entry stands for the whole sequence.
 * `overrides[i].set_advantage_to_zero` makes every advantage of sequence i 0, given ones too.
 */
import { Advantage, type ScoredGroup } from "@atropos/core"

export type Baseline = "group" | "leave-one-out" | "none"

export interface AdvantageSettings {
  readonly baseline: Baseline
  /** What score advantages are divided by. */
  readonly advantageScale: Advantage.Scale
}

export interface GroupAdvantages {
  /** (G, T_i) */
  readonly advantages_G_T: ReadonlyArray<Float32Array>
  /** Whether the scores say nothing: more than one, all equal, and no advantages per token. */
  readonly isConstant: boolean
}

/** Scores closer than this, relative to the largest, are equal: float32 rounding of a sum of a few terms. */
const tolerance = 1e-6

const areEqual = (scores_G: Float64Array): boolean => {
  const least = scores_G.reduce((a, b) => Math.min(a, b), Infinity)
  const most = scores_G.reduce((a, b) => Math.max(a, b), -Infinity)
  return most - least <= tolerance * Math.max(Math.abs(least), Math.abs(most))
}

/** One advantage per sequence. */
export const ofScores = (scores_G: Float64Array, { advantageScale, baseline }: AdvantageSettings): Float64Array => {
  const count = scores_G.length
  if (count <= 1 || baseline === "none") return scores_G.slice()
  if (areEqual(scores_G)) return new Float64Array(count)
  const relative_G = Advantage.groupRelative(scores_G, { scale: advantageScale })
  return baseline === "group" ? relative_G : relative_G.map((advantage) => (advantage * count) / (count - 1))
}

/** Advantages of every token of a group. */
export const ofGroup = (group: ScoredGroup.ScoredGroup, settings: AdvantageSettings): GroupAdvantages => {
  const { advantages: given_G_T, overrides, scores, tokens } = group
  const scores_G = ofScores(scores, settings)
  const isZero = (i: number) => Boolean(overrides?.[i]?.["set_advantage_to_zero"])
  return {
    advantages_G_T: tokens.map((sequence, i) => {
      if (isZero(i)) return new Float32Array(sequence.length)
      const given_T = given_G_T?.[i]
      if (given_T !== undefined && given_T.length !== 1) return given_T
      return new Float32Array(sequence.length).fill(given_T?.[0] ?? scores_G[i]!)
    }),
    isConstant: (given_G_T ?? []).length === 0 && tokens.length > 1 && areEqual(scores)
  }
}

/**
 * Temperature that sequence i was sampled at: `overrides[i].temperature`, else `generationParams.temperature`, else
 * `groupOverrides.temperature`, else the usual one. What is not a positive number counts as 1, as in the original.
 */
export const temperatureOf = (group: ScoredGroup.ScoredGroup, i: number, usual = 1): number => {
  const { generationParams, groupOverrides, overrides } = group
  const given = [overrides?.[i], generationParams, groupOverrides]
    .map((switches) => switches?.["temperature"])
    .find((temperature) => temperature !== undefined && temperature !== null)
  const temperature = Number(given ?? usual)
  return Number.isFinite(temperature) && temperature > 0 ? temperature : 1
}
