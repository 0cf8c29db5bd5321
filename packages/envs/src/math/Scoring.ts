/**
 * Scores attempts and verdicts, and derives follow-up items. Pure: the original's random choices are drawn from a seed
 * that depends only on the group, regardless of its order.
 */
import { type RewardComponents, type ScoredGroup, SeededRandom, type Trajectory } from "@atropos/core"
import * as MathAnswer from "../verify/math/MathAnswer.ts"
import * as TextAnswer from "../verify/Text.ts"
import * as Thinking from "../kit/Thinking.ts"
import * as FormCredit from "./FormCredit.ts"
import type { Item, Normal } from "./Items.ts"
import { problemOf } from "./Problem.ts"

type Group = ReadonlyArray<Trajectory.Trajectory>

export interface Rules {
  /** Share of all-right groups that are scored by the length of the answers. */
  readonly shareLengthPenalty: number
  /** Share of mixed groups whose solutions are judged. */
  readonly shareJudged: number
  /** True if the trainer ignores truncated answers. */
  readonly maskTooLong: boolean
  /** Reward for the form of a wrong answer (`FormCredit`). */
  readonly formReward: number
}

/** Right solutions below this similarity are compared. */
const maxSimilarity = 0.975
/** Lengths count only if they differ by at least this share of the shortest. */
const minSpread = 0.1

/** Random choices for a group, independent of its order. */
const lot = (group: Group, purpose: number): SeededRandom.SeededRandom =>
  SeededRandom.seeded(
    group.reduce((sum, { completion }) => (sum + SeededRandom.hashOf(completion)) | 0, 0),
    purpose
  )

export const isCut = ({ finishReason }: Trajectory.Trajectory): boolean => finishReason === "length"

/** The part of an answer that is shown in other prompts. */
export const visibleText = ({ completion }: Trajectory.Trajectory): string => Thinking.visibleText(completion).trim()

export interface Parts {
  readonly rewards: RewardComponents.Rewards
  readonly overrides?: ScoredGroup.Overrides
}

const masked = { set_advantage_to_zero: true }

/**
 * Combines components into a score: -1, and more for right ones. Answers have `correct`, and `length` if all of a group
 * are right (0 for the shortest, -2 for the longest); verdicts on wrong solutions have `verdict` and `helped`, the
 * share of right tries after them; of two right solutions one is `preferred`; a truncated try after a verdict is
 * `excused`.
 */
export const rule: RewardComponents.Rule = {
  weights: { correct: 2, length: 1, verdict: 1, helped: 1, preferred: 2, excused: 1 },
  base: -1
}

/** The components of an answer; a truncated one is masked if the rules require it. */
export const scoreOf = (
  isRight: boolean,
  trajectory: Trajectory.Trajectory,
  { maskTooLong }: Rules,
  wrong: RewardComponents.Rewards = { correct: 0 }
): Parts => ({
  rewards: isRight ? { correct: 1 } : wrong,
  ...(isCut(trajectory) && maskTooLong && { overrides: masked })
})

/** The components of a try after a verdict; a truncated one is neutral. */
export const tryOf = (isRight: boolean, trajectory: Trajectory.Trajectory, rules: Rules): Parts =>
  scoreOf(isRight, trajectory, rules, { correct: 0, ...(isCut(trajectory) && { excused: 1 }) })

/**
 * cos(π · (length - shortest) / (longest - shortest)): 1 for the shortest, -1 for the longest. Undefined if all have
 * about the same length.
 */
const byLength = (group: Group): ReadonlyArray<number> | undefined => {
  const lengths = group.map(({ tokens }) => tokens.length)
  const shortest = Math.min(...lengths)
  const spread = Math.max(...lengths) - shortest
  return spread > minSpread * shortest
    ? lengths.map((length) => Math.cos((Math.PI * (length - shortest)) / spread))
    : undefined
}

/** The scores of a group; if all are right, in a share of groups by length. */
export const scores = (isRight: ReadonlyArray<boolean>, group: Group, rules: Rules): ReadonlyArray<Parts> => {
  const isAllRight = isRight.every(Boolean) && !group.some(isCut)
  const byLengths = isAllRight && lot(group, 0).chance(rules.shareLengthPenalty) ? byLength(group) : undefined
  if (byLengths !== undefined) return byLengths.map((score) => ({ rewards: { correct: 1, length: score - 1 } }))
  return group.map((trajectory, index) => scoreOf(isRight[index]!, trajectory, rules))
}

/** Scores of attempts at a problem, including form credit. */
export const withForm = (
  scores: ReadonlyArray<Parts>,
  group: Group,
  { formReward }: Pick<Rules, "formReward">
): ReadonlyArray<Parts> =>
  scores.map((score, index) => ({
    ...score,
    rewards: FormCredit.add(score.rewards, group[index]!.completion, formReward)
  }))

/** The two least similar of several texts, if they differ enough. */
const leastSimilar = (texts: ReadonlyArray<string>): readonly [number, number] | undefined => {
  let min = maxSimilarity
  let pair: readonly [number, number] | undefined
  for (const [i, one] of texts.entries()) {
    for (let j = i + 1; j < texts.length; j++) {
      const similarity = TextAnswer.tokenF1(one, texts[j]!)
      if (similarity < min) {
        min = similarity
        pair = [i, j]
      }
    }
  }
  return pair
}

/** Items that follow from a group of attempts: solutions to judge if some are right, two to compare if all are. */
export const followUps = (
  item: Normal,
  isRight: ReadonlyArray<boolean>,
  group: Group,
  rules: Rules
): ReadonlyArray<Item> => {
  const whole = group.filter((trajectory) => !isCut(trajectory))
  if (isRight.every(Boolean)) {
    const pair = leastSimilar(whole.map(visibleText))
    return pair === undefined ? [] : [{ ...problemOf(item), kind: "rlaif", pair: [whole[pair[0]]!, whole[pair[1]]!] }]
  }
  const right = group.find((trajectory, index) => isRight[index] && !isCut(trajectory))
  const wrong = group.find((trajectory, index) => !isRight[index] && !isCut(trajectory))
  if (right === undefined || wrong === undefined || !lot(group, 1).chance(rules.shareJudged)) return []
  return [right, wrong].map((trajectory) => ({
    ...problemOf(item),
    kind: "judge",
    solution: visibleText(trajectory),
    isRight: trajectory === right
  }))
}

/** The verdict of an answer; undefined if it is truncated or unclear. */
export const verdictOf = (trajectory: Trajectory.Trajectory): boolean | undefined => {
  if (isCut(trajectory)) return undefined
  const answer = MathAnswer.extract(trajectory.completion, MathAnswer.boxedOptions)
    ?.replaceAll(/\\text\w*\{(\w+)\}/g, "$1")
    .trim()
    .toLowerCase()
  return answer === "true" ? true : answer === "false" ? false : undefined
}
