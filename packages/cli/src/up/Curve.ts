/** What a run of `up` came to: rewards step by step, and the held-out items before and after. */
import { Evaluation } from "@atropos/core"

export interface Curve {
  readonly rewards: ReadonlyArray<number>
  readonly tokens: number
  readonly sequences: number
}

/** Share of held-out items solved greedily. */
export interface Solved {
  readonly correct: number
  readonly items: number
}

const window = 10

/** Mean of the last few rewards. */
export const recent = (rewards: ReadonlyArray<number>): number =>
  rewards.length === 0 ? 0 : Evaluation.mean(rewards.slice(-window))

/** Mean of the first few. */
export const early = (rewards: ReadonlyArray<number>): number => recent(rewards.slice(0, window))

const bars = "▁▂▃▄▅▆▇█"

/** The rewards from 0 to 1 as a line of blocks, for logs and terminals. */
export const sparkline = (rewards: ReadonlyArray<number>, width = 48): string => {
  const columns = Math.min(width, rewards.length)
  return Array.from({ length: columns }, (_, column) => {
    const from = Math.floor((column * rewards.length) / columns)
    const to = Math.max(from + 1, Math.floor(((column + 1) * rewards.length) / columns))
    const mean = Math.min(1, Math.max(0, Evaluation.mean(rewards.slice(from, to))))
    return bars[Math.round(mean * (bars.length - 1))]
  }).join("")
}

export const showSolved = ({ correct, items }: Solved): string =>
  `${((100 * correct) / Math.max(1, items)).toFixed(1)}% (${correct} of ${items})`
