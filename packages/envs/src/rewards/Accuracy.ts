/**
 * Rewards for correctness: a symbolic check of the boxed answer, or the solution's text in the response.
 *
 * Source: accuracy_reward.py, r1_reward.py and cascading_r1_math_reward.py of the original; each needs
 * `reference.solution`.
 */
import { Effect } from "effect"
import { MathVerifier, type MathVerifierError } from "../verify/MathVerifier.ts"
import { accuracyOptions } from "../verify/math/MathAnswer.ts"
import { formatReasoning, splitReasoning } from "./Format.ts"
import * as Reward from "./Reward.ts"

/**
 * 1 if the boxed or announced answer after the reasoning equals the reference, symbolically or as a number; more than
 * `maxBoxedThreshold` boxes get 0.
 */
export const accuracy = ({
  maxBoxedThreshold = accuracyOptions.maxBoxed,
  splitOnThinkTag = accuracyOptions.splitsOnThinkTag
}: { readonly maxBoxedThreshold?: number; readonly splitOnThinkTag?: boolean } = {}): Reward.Reward<
  MathVerifierError,
  MathVerifier
> =>
  Reward.makeEffect("accuracy", (completion, { solution = "" }) =>
    Effect.map(
      MathVerifier.use((verifier) =>
        verifier.grade(solution, completion, { maxBoxed: maxBoxedThreshold, splitsOnThinkTag: splitOnThinkTag })
      ),
      (isCorrect) => (isCorrect ? 1 : 0)
    )
  )

/**
 * `rewardValue` if the response (the text after a single think block, else everything) contains the solution, or equals
 * it.
 */
export const accuracyX = ({
  caseSensitive = false,
  exactMatch = false,
  rewardValue = 1
}: {
  readonly exactMatch?: boolean
  readonly caseSensitive?: boolean
  readonly rewardValue?: number
} = {}): Reward.Reward => {
  const fold = (text: string) => (caseSensitive ? text : text.toLowerCase())
  return Reward.make("accuracy_x", (completion, { solution }) => {
    if (solution === undefined) return 0
    const response = fold(splitReasoning(completion).response)
    return (exactMatch ? response === fold(solution) : response.includes(fold(solution))) ? rewardValue : 0
  })
}

/**
 * Format and accuracy: formatWeight · [one think block and a response] + accuracyWeight · [the response has the
 * solution].
 */
export const r1 = ({
  accuracyWeight = 1,
  formatWeight = 0.5
}: { readonly formatWeight?: number; readonly accuracyWeight?: number } = {}): Reward.Reward => {
  const format = formatReasoning({ rewardValue: formatWeight })
  const match = accuracyX({ rewardValue: accuracyWeight })
  return Reward.makeEffect("r1", (completion, reference) =>
    Effect.zipWith(format.compute(completion, reference), match.compute(completion, reference), (a, b) => a + b)
  )
}

const onlyThinkThenAnswer = /^<think>[^<]*<\/think>[^<]*$/

/** Accuracy, plus `formatBonus` for right answers that consist of a think block and text only. */
export const cascadingR1Math = ({ formatBonus = 0.5 }: { readonly formatBonus?: number } = {}): Reward.Reward<
  MathVerifierError,
  MathVerifier
> => {
  const { compute } = accuracy()
  return Reward.makeEffect("cascading_r1_math", (completion, reference) =>
    Effect.map(compute(completion, reference), (score) =>
      score > 0 && onlyThinkThenAnswer.test(completion) ? score + formatBonus : score
    )
  )
}
