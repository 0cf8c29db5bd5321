/**
 * Advantages of a scored group, one per token, as the loss wants them.
 *
 * A sequence's score becomes one number for all its tokens (`ScoreAdvantage` in core has the rules); where the
 * environment gives advantages per token, those are used as they are.
 *
 * A given row of one entry stands for the whole sequence.
 * `overrides[i].set_advantage_to_zero` makes every advantage of sequence i 0, given ones too. Sequences with the same
 * `overrides[i].session` are one rollout: they count once in the group, and have one advantage.
 */
import { ScoreAdvantage, type ScoredGroup } from "@atropos/core"

/**
 * A function of a group: one number for each sequence, or a row for each with one for each of its tokens. It replaces
 * the comparison of scores and what the environment gave per token.
 */
export type OfGroup = (group: ScoredGroup.ScoredGroup) => ArrayLike<number> | ReadonlyArray<Float32Array>

/** How the advantages of a group are made: by a rule of scores, or by a function. */
export type Rule = ScoreAdvantage.Rule | OfGroup

export interface GroupAdvantages {
  /** (G, T_i) */
  readonly advantages_G_T: ReadonlyArray<Float32Array>
  /** Whether the scores say nothing: more than one, all equal, and no advantages per token. */
  readonly isConstant: boolean
}

const { sessionsOf } = ScoreAdvantage

/**
 * What the rule has to know of the whole batch; undefined where it looks at groups alone. Rollouts count once; groups
 * that bring advantages of their own do not count.
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

/** What a function answered, as a row for each sequence. Throws where that is not one finite advantage for each. */
const rowsOf = (of: OfGroup, group: ScoredGroup.ScoredGroup): ReadonlyArray<Float32Array> => {
  const answer = of(group)
  const { tokens } = group
  const fail = (what: string) => {
    throw new Error(`the function ${of.name || "of advantages"} gave ${what}`)
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

/** Advantages of every token of a group; `batch` is what `ofBatch` says of all of them. */
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
