/** What a run of `up` came to: rewards step by step, and the held-out items before and after. */
import { Evaluation } from "@atropos/core"

export interface Curve {
  readonly rewards: ReadonlyArray<number>
  readonly tokens: number
  readonly sequences: number
  /** What its steps took, waiting included. */
  readonly seconds: number
}

export const empty: Curve = { rewards: [], tokens: 0, sequences: 0, seconds: 0 }

/** What held-out items came to, answered greedily. */
export interface Solved {
  /** How many are solved; of a measure, the sum over items. */
  readonly correct: number
  readonly items: number
  /** What is measured if the environment does not say what is solved: a component of the score, or `reward`. */
  readonly measure?: string
}

/** Those of one environment. */
export interface SolvedBy extends Solved {
  readonly environment: string
}

/**
 * Over how many steps rewards are averaged, as in the viewer: shorter where there are not enough of them for two
 * windows.
 */
export const windowOf = ({ length }: ReadonlyArray<number>): number => Math.max(1, Math.min(10, Math.floor(length / 2)))

const meanOf = (rewards: ReadonlyArray<number>): number => (rewards.length === 0 ? 0 : Evaluation.mean(rewards))

/** Mean of the last window. */
export const recent = (rewards: ReadonlyArray<number>): number => meanOf(rewards.slice(-windowOf(rewards)))

/** Mean of the first. */
export const early = (rewards: ReadonlyArray<number>): number => meanOf(rewards.slice(0, windowOf(rewards)))

/** The best mean of a window, and the last of its steps, counted from the curve's first. */
export const best = (rewards: ReadonlyArray<number>): { readonly value: number; readonly step: number } => {
  const window = windowOf(rewards)
  let found = { value: early(rewards), step: Math.min(window, rewards.length) }
  for (let end = window + 1; end <= rewards.length; end++) {
    const value = Evaluation.mean(rewards.slice(end - window, end))
    if (value > found.value) found = { value, step: end }
  }
  return found
}

export { of as sparkline } from "../base/Sparkline.ts"

export const showSolved = ({ correct, items, measure }: Solved): string =>
  measure === undefined
    ? `${((100 * correct) / Math.max(1, items)).toFixed(1)}% (${correct} of ${items})`
    : `${(correct / Math.max(1, items)).toFixed(3)} (${items} items)`
