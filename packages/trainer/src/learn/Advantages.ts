/**
 * Computes the advantages of a scored group, one per token, from scores (rules: `ScoreAdvantage` in core) or from the
 * environment's own advantages; a row with one entry applies to the whole sequence.
 *
 * `overrides[i].set_advantage_to_zero` zeroes all advantages of sequence i. Sequences with the same
 * `overrides[i].session` are one rollout: they count once in the group and share one advantage.
 */
import { ScoreAdvantage, type ScoredGroup } from "@atropos/core"

/**
 * Custom advantages of a group: one number per sequence, or a row per sequence with one number per token. Replaces both
 * scores and advantages from the environment.
 */
export type OfGroup = (group: ScoredGroup.ScoredGroup) => ArrayLike<number> | ReadonlyArray<Float32Array>

/** Advantage computation of a group: a rule of scores, or a function. */
export type Rule = ScoreAdvantage.Rule | OfGroup

export interface GroupAdvantages {
  /** (G, T_i) */
  readonly advantages_G_T: ReadonlyArray<Float32Array>
  /** True if the scores carry no signal: more than one, all equal, and no advantages per token. */
  readonly isConstant: boolean
}

const { sessionsOf } = ScoreAdvantage

/**
 * Batch-wide score statistics that the rule needs; undefined if it only compares within groups. Each rollout counts
 * once; groups with their own advantages do not count.
 */
export const ofBatch = (
  groups: ReadonlyArray<ScoredGroup.ScoredGroup>,
  rule: Rule
): ScoreAdvantage.BatchScores | undefined =>
  typeof rule !== "function" && ScoreAdvantage.needsBatch(rule)
    ? ScoreAdvantage.ofBatch(
        groups
          .filter(({ advantages }) => (advantages ?? []).length === 0)
          .flatMap((group) => ScoreAdvantage.rollouts(group.scores, sessionsOf(group)).scores_S)
      )
    : undefined

/** Normalizes a function's result to one row per sequence. Throws unless every advantage is present and finite. */
const rowsOf = (of: OfGroup, group: ScoredGroup.ScoredGroup): ReadonlyArray<Float32Array> => {
  const answer = of(group)
  const { tokens } = group
  const fail = (what: string) => {
    throw new Error(`the function ${of.name || "of advantages"} returned ${what}`)
  }
  if (answer.length !== tokens.length) fail(`${answer.length} advantages for a group of ${tokens.length} sequences`)
  return tokens.map((sequence, i) => {
    const one = answer[i]!
    const row = typeof one === "number" ? new Float32Array(sequence.length).fill(one) : one
    if (row.length !== sequence.length)
      fail(`${row.length} advantages for the ${sequence.length} tokens of sequence ${i}`)
    const wrong = row.findIndex((value) => !Number.isFinite(value))
    if (wrong !== -1) fail(`${row[wrong]} for sequence ${i}`)
    return row
  })
}

/** Computes the advantages of every token of a group; `batch` is the result of `ofBatch`. */
export const ofGroup = (
  group: ScoredGroup.ScoredGroup,
  rule: Rule,
  batch?: ScoreAdvantage.BatchScores
): GroupAdvantages => {
  const { overrides, scores, tokens } = group
  const given_G_T = typeof rule === "function" ? rowsOf(rule, group) : group.advantages
  const scores_G = typeof rule === "function" ? [] : ScoreAdvantage.ofSessions(scores, sessionsOf(group), rule, batch)
  const isZero = (i: number) => Boolean(overrides?.[i]?.["set_advantage_to_zero"])
  return {
    advantages_G_T: tokens.map((sequence, i) => {
      if (isZero(i)) return new Float32Array(sequence.length)
      const given_T = given_G_T?.[i]
      if (given_T !== undefined && given_T.length !== 1) return given_T
      return new Float32Array(sequence.length).fill(given_T?.[0] ?? scores_G[i]!)
    }),
    isConstant: (given_G_T ?? []).length === 0 && tokens.length > 1 && ScoreAdvantage.areEqual(scores)
  }
}

/**
 * Sampling temperature of sequence i: `overrides[i].temperature`, else `generationParams.temperature`, else
 * `groupOverrides.temperature`, else `fallback`. Values that are not positive numbers count as 1, as in the original.
 */
export const temperatureOf = (group: ScoredGroup.ScoredGroup, i: number, fallback = 1): number => {
  const { generationParams, groupOverrides, overrides } = group
  const recorded = [overrides?.[i], generationParams, groupOverrides]
    .map((switches) => switches?.["temperature"])
    .find((temperature) => temperature !== undefined && temperature !== null)
  const temperature = Number(recorded ?? fallback)
  return Number.isFinite(temperature) && temperature > 0 ? temperature : 1
}
