/**
 * Computes the learning rate of a step: linear warm-up, then constant, or down to a floor along a cosine or a line.
 *
 * `step` starts at 0. Warm-up of w steps: peak * (step + 1) / w for step < w (the original's trainer). After it, with p
 * the completed share of the remaining steps, from 0 at step w to 1 at the last step and beyond:
 *
 *     constant  peak
 *     linear    peak * (floor + (1 - floor) (1 - p))
 *     cosine    peak * (floor + (1 - floor) (1 + cos(pi p)) / 2)
 */
export const kinds = ["constant", "cosine", "linear"] as const

export interface Schedule {
  readonly kind: (typeof kinds)[number]
  readonly peak: number
  readonly warmupSteps: number
  /** Total steps, warm-up included. */
  readonly steps: number
  /** Final learning rate as a share of the peak. */
  readonly floor: number
}

const shares: { readonly [K in Schedule["kind"]]: (progress: number) => number } = {
  constant: () => 1,
  cosine: (progress) => (1 + Math.cos(Math.PI * progress)) / 2,
  linear: (progress) => 1 - progress
}

/** Learning rate of `step`, which may exceed the last one. */
export const learningRate = ({ floor, kind, peak, steps, warmupSteps }: Schedule, step: number): number => {
  if (step < warmupSteps) return (peak * (step + 1)) / warmupSteps
  const last = steps - 1 - warmupSteps
  const progress = last <= 0 ? 1 : Math.min(1, (step - warmupSteps) / last)
  return peak * (floor + (1 - floor) * shares[kind](progress))
}
