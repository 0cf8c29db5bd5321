/** Summarises a run of `up`: rewards per step, and the held-out items before and after. */
import { Evaluation } from "@atropos/core"
import { early, windowOf } from "../base/RewardWindow.ts"

export interface Curve {
  readonly rewards: ReadonlyArray<number>
  /** By step, if the loss is supervised; a policy's loss says nothing. */
  readonly losses: ReadonlyArray<number | undefined>
  readonly tokens: number
  readonly sequences: number
  /** Total time of its steps, waiting included. */
  readonly seconds: number
}

export const empty: Curve = { rewards: [], losses: [], tokens: 0, sequences: 0, seconds: 0 }

/** Results on held-out items. */
export interface Solved {
  /** Number solved; for a measure, the sum over items. */
  readonly correct: number
  readonly items: number
  /** If the environment does not define solved: the reward that is trained, the total of its components. */
  readonly measure?: "reward"
}

export interface SolvedBy extends Solved {
  readonly environment: string
}

/** The best window mean, and the last step of that window, counted from the curve's first. */
export const best = (rewards: ReadonlyArray<number>): { readonly value: number; readonly step: number } => {
  const window = windowOf(rewards)
  let found = { value: early(rewards), step: Math.min(window, rewards.length) }
  for (let end = window + 1; end <= rewards.length; end++) {
    const value = Evaluation.mean(rewards.slice(end - window, end))
    if (value > found.value) found = { value, step: end }
  }
  return found
}

export { early, recent, startAndEnd, windowOf } from "../base/RewardWindow.ts"
export { of as sparkline } from "../base/Sparkline.ts"

export const showSolved = ({ correct, items, measure }: Solved): string =>
  measure === undefined
    ? `${((100 * correct) / Math.max(1, items)).toFixed(1)}% (${correct} of ${items})`
    : `${(correct / Math.max(1, items)).toFixed(3)} (${items} items)`
