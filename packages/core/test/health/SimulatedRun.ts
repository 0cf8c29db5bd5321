/** Runs made up from how likely an answer is right and how certain the policy is, as they are recorded. */
import * as Health from "../../src/health/Health.ts"

export interface SimulatedRun {
  readonly seed: number
  readonly steps: number
  /** Of a batch, and answers in each. */
  readonly groups: number
  readonly size: number
  /** From 0 to 1, at a step. */
  readonly right: (step: number) => number
  /** Nats, at a step. */
  readonly entropy: (step: number) => number
  /** How much items differ: 0 not at all, 1 from never right to always right. */
  readonly spread?: number
  /** What the grader gives an answer, by whether it is right: 1 and 0 unless it is broken. */
  readonly grade?: (isRight: boolean, step: number, draw: () => number) => number
  /** Whether groups whose scores are alike never reach the trainer, while another environment's do. */
  readonly isFiltered?: boolean
}

/** Of properties over whole runs: one of them takes as long as a hundred inputs of another property. */
export const few = { arbitrary: { runs: Number(process.env["PROPERTY_RUNS"] ?? 20) } }

/** Uniform from 0 to 1 (mulberry32, https://github.com/bryc/code). */
const uniform = (seed: number) => {
  let state = seed | 0
  return (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

const mean = (values: ReadonlyArray<number>): number => values.reduce((sum, value) => sum + value, 0) / values.length

const deviation = (values: ReadonlyArray<number>): number => {
  const center = mean(values)
  return Math.sqrt(mean(values.map((value) => (value - center) ** 2)))
}

const isSolved = (score: number): number => (score === 1 ? 1 : 0)

const isAlike = (group: ReadonlyArray<number>): boolean => group.every((score) => score === group[0])

/** What is recorded of it, step by step; `onStep` looks at it after each. */
export const record = (run: SimulatedRun, onStep: (recorded: Health.Recorded, step: number) => void = () => {}) => {
  const { recorded, see } = Health.recorder()
  const {
    entropy,
    grade = (isRight: boolean) => (isRight ? 1 : 0),
    groups,
    isFiltered = false,
    right,
    seed,
    size,
    spread = 0,
    steps
  } = run
  const draw = uniform(seed)
  for (let step = 1; step <= steps; step++) {
    const by: { readonly [answers in "right" | "wrong"]: Array<number> } = { right: [], wrong: [] }
    const made = Array.from({ length: groups }, () => {
      const room = Math.min(right(step), 1 - right(step))
      const own = right(step) + spread * room * (2 * draw() - 1)
      return Array.from({ length: size }, () => {
        const isRight = draw() < own
        const score = grade(isRight, step, draw)
        by[isRight ? "right" : "wrong"].push(score)
        return score
      })
    })
    const alike = made.filter(isAlike).length
    const range = Math.max(...made.flat()) - Math.min(...made.flat())
    const sent = isFiltered ? made.filter((group) => !isAlike(group)) : made
    see("math_0", step, {
      "train/items_sent_to_api": sent.length,
      "train/percent_identical": alike / groups,
      "train/solved_fraction": mean(made.flat().map(isSolved)),
      ...(range > 0 &&
        by.right.length > 0 &&
        by.wrong.length > 0 && { "train/expected_gain": (mean(by.right) - mean(by.wrong)) / range }),
      ...(sent.length > 0 && { "train/scores_mean": mean(sent.flat()), "train/scores_std": deviation(sent.flat()) })
    })
    if (isFiltered) see("other_0", step, { "train/items_sent_to_api": groups })
    if (sent.length > 0) {
      const isIdle = sent.every(isAlike)
      see("trainer", step, {
        "reward/mean": mean(sent.flat()),
        "reward/std": deviation(sent.flat()),
        "reward/solved_fraction": mean(sent.flat().map(isSolved)),
        "grpo/entropy": entropy(step),
        "batch/groups": sent.length,
        "batch/zero_variance_groups": sent.filter(isAlike).length,
        "train/skipped": isIdle ? 1 : 0,
        "train/skipped_not_finite": 0
      })
    }
    onStep(recorded, step)
  }
  return recorded
}
