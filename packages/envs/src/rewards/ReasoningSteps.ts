/**
 * Rewards signs of step-by-step reasoning: numbered steps, lists, bullets, transition words.
 *
 * Σ weight · min(1, matches / minSteps), plus a small bonus for more than `minWords` words, at most 1. Source:
 * reasoning_steps_reward.py of the original.
 */
import * as Reward from "./Reward.ts"

const signs: ReadonlyArray<readonly [pattern: RegExp, weight: number]> = [
  [/Step\s{1,9}\d+[\s:]/gi, 0.5],
  [/^[^\S\n\r\u2028\u2029]*\d+\.\s/gm, 0.5],
  [/^[^\S\n\r\u2028\u2029]*[-*•]\s/gm, 0.4],
  [
    /\b(?:First|Second|Third|Fourth|Fifth|Next|Then|Finally|Subsequently|Afterward|Lastly|Initially|To begin|Let's begin|I'll first|After that|In conclusion|Eventually|To solve|begin by|understand|analyze|apply|compute)\b/gim,
    0.3
  ]
]

export const reasoningSteps = ({
  baseScore = 0.1,
  minSteps = 3,
  minWords = 10
}: { readonly minWords?: number; readonly minSteps?: number; readonly baseScore?: number } = {}): Reward.Reward =>
  Reward.make("reasoning_steps", (completion) => {
    const steps = signs.reduce(
      (sum, [pattern, weight]) => sum + weight * Math.min(1, (completion.match(pattern) ?? []).length / minSteps),
      0
    )
    const words = completion.split(/\s+/).filter((one) => one !== "").length
    return Math.min(1, steps + (words > minWords ? baseScore : 0))
  })
