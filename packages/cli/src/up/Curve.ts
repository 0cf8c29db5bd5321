/** What a run of `up` came to: rewards step by step, and the held-out items before and after. */
import { Evaluation } from "@atropos/core"

export interface Curve {
  readonly rewards: ReadonlyArray<number>
  readonly tokens: number
  readonly sequences: number
}

export const empty: Curve = { rewards: [], tokens: 0, sequences: 0 }

/** Share of held-out items solved greedily. */
export interface Solved {
  readonly correct: number
  readonly items: number
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

const bars = "▁▂▃▄▅▆▇█"

/**
 * The rewards as a line of blocks, for logs and terminals: from 0 to 1, or from the lowest to the highest where they
 * leave that.
 */
export const sparkline = (rewards: ReadonlyArray<number>, width = 48): string => {
  const columns = Math.min(width, rewards.length)
  const means = Array.from({ length: columns }, (_, column) => {
    const from = Math.floor((column * rewards.length) / columns)
    const to = Math.max(from + 1, Math.floor(((column + 1) * rewards.length) / columns))
    return Evaluation.mean(rewards.slice(from, to))
  })
  const [lowest, highest] = [Math.min(...means), Math.max(...means)]
  const [floor, ceiling] = lowest >= 0 && highest <= 1 ? [0, 1] : [lowest, highest]
  const range = ceiling > floor ? ceiling - floor : 1
  return means.map((mean) => bars[Math.round(((mean - floor) / range) * (bars.length - 1))]).join("")
}

export const showSolved = ({ correct, items }: Solved): string =>
  `${((100 * correct) / Math.max(1, items)).toFixed(1)}% (${correct} of ${items})`
