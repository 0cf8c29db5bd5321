/** Averages rewards or losses at the start and at the end of a run over several steps, since single ones are noisy. */
import { Evaluation } from "@atropos/core"

/** Window for averaging rewards, as in the viewer: shorter if there are too few steps for two windows. */
export const windowOf = ({ length }: ReadonlyArray<number>): number => Math.max(1, Math.min(10, Math.floor(length / 2)))

const meanOf = (rewards: ReadonlyArray<number>): number => (rewards.length === 0 ? 0 : Evaluation.mean(rewards))

export const recent = (rewards: ReadonlyArray<number>): number => meanOf(rewards.slice(-windowOf(rewards)))

export const early = (rewards: ReadonlyArray<number>): number => meanOf(rewards.slice(0, windowOf(rewards)))

/** `0.586 at the start, 0.272 at the end` */
export const startAndEnd = (values: ReadonlyArray<number>): string =>
  `${early(values).toFixed(3)} at the start, ${recent(values).toFixed(3)} at the end`
