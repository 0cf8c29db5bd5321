/**
 * The updates with one batch: `updates_per_batch` of them, each with the gradient of the whole batch (TRL's
 * `num_iterations`, PPO's epochs). A batch is not cut into mini-batches: each sequence weighs what it weighs in the
 * batch, and one update a batch is the case of 1.
 *
 * The trainer's logprobs of before come with the first gradient, at no further cost. They are π_old of the later
 * updates where the objective wants the trainer's, or where the sampler's are unknown.
 *
 * An update whose loss or gradient is not a number is the last one.
 */
import { Effect } from "effect"
import type { Computed, Learner, Look } from "../learn/LearnerEngine.ts"
import type { TrainerError } from "../learn/TrainerError.ts"
import type { WeightedBatch } from "../learn/WeightedBatch.ts"
import type { StepClock } from "./StepClock.ts"

export interface First {
  readonly computed: Computed
  readonly oldLogprobs: ReadonlyArray<Float32Array>
  readonly seconds: number
}

export interface Made {
  /** Of the first gradient, but for the figures of the ratio, which are of all. */
  readonly computed: Computed
  /** Norm of the first gradient. */
  readonly norm: number | undefined
  /** Those that were made. */
  readonly updates: number
  /** Gradients that were computed. */
  readonly passes: number
  /** Whether all losses and gradients were numbers. */
  readonly isFinite: boolean
  readonly computeSeconds: number
  readonly updateSeconds: number
}

/** Of a batch that nothing can be learned from. */
const nothing: Computed = { loss: 0, figures: new Map(), isFinite: true, pieces: 0, positions: 0 }

/** Figures that say how far the policy has moved: of all updates, for in the first they may say nothing. */
const ofRatio = new Set(["ratio", "clipped_low", "clipped_high"])
const largest = new Set(["ratio_max"])

const combined = (first: Computed, all: ReadonlyArray<Computed>): Computed => {
  if (all.length === 1) return first
  const values = (name: string) => all.map(({ figures }) => figures.get(name) ?? 0)
  const figures = Array.from(first.figures, ([name, figure]) => {
    if (largest.has(name)) return [name, Math.max(...values(name))] as const
    return [name, ofRatio.has(name) ? values(name).reduce((a, b) => a + b, 0) / all.length : figure] as const
  })
  return { ...first, figures: new Map(figures) }
}

export const make = (learner: Learner, updatesPerBatch: number) => ({
  /** The gradient of the first update; `look` is shown its logprobs. May be interrupted. */
  first: Effect.fnUntraced(function* (batch: WeightedBatch, clock: StepClock, look: Look | undefined) {
    const oldLogprobs: Array<Float32Array> = []
    const keep: Look = (item, logprobs) => {
      look?.(item, logprobs)
      oldLogprobs[item] = logprobs.slice()
    }
    const [seconds, computed] = yield* clock.part(
      "compute",
      batch.items.length === 0
        ? Effect.succeed(nothing)
        : learner.forwardBackward(batch, updatesPerBatch === 1 ? look : keep)
    )
    return { computed, oldLogprobs, seconds } satisfies First
  }),

  /** All updates. Between them the weights are those of no step: not to be interrupted. */
  rest: Effect.fnUntraced(function* (
    batch: WeightedBatch,
    { computed: first, oldLogprobs, seconds }: First,
    lr: number,
    clock: StepClock
  ): Effect.fn.Return<Made, TrainerError> {
    const isEmpty = batch.items.length === 0
    const skipped = Effect.as(isEmpty ? Effect.void : learner.discard, {
      norm: isEmpty ? 0 : Number.NaN,
      isApplied: false
    })
    const update = (computed: Computed) =>
      clock.part("update", computed.isFinite && !isEmpty ? learner.optimizerStep(lr) : skipped)
    let [updateSeconds, { isApplied, norm }] = yield* update(first)
    let computeSeconds = seconds
    let updates = isApplied ? 1 : 0
    const all = [first]
    while (isApplied && all.length < updatesPerBatch) {
      const [computing, computed] = yield* clock.part("compute", learner.forwardBackward({ ...batch, oldLogprobs }))
      const [updating, updated] = yield* update(computed)
      all.push(computed)
      computeSeconds += computing
      updateSeconds += updating
      isApplied = updated.isApplied
      if (isApplied) updates++
    }
    return {
      computed: combined(first, all),
      norm,
      updates,
      passes: isEmpty ? 0 : all.length,
      isFinite: isEmpty || isApplied,
      computeSeconds,
      updateSeconds
    }
  }, Effect.uninterruptible)
})
