/**
 * Makes the `updates_per_batch` updates of one batch, each with the gradient of the whole batch (TRL's
 * `num_iterations`, PPO's epochs); no mini-batches.
 *
 * The first pass also yields the trainer's logprobs, which later updates use as π_old if the objective asks for the
 * trainer's, or if the sampler's are unknown. Stops after a NaN or infinite loss or gradient.
 */
import { Effect } from "effect"
import type { Computed, Learner, LogprobCallback } from "../learn/LearnerEngine.ts"
import type { TrainerError } from "../learn/TrainerError.ts"
import type { WeightedBatch } from "../learn/WeightedBatch.ts"
import type { StepClock } from "./StepClock.ts"

export interface First {
  readonly computed: Computed
  readonly oldLogprobs: ReadonlyArray<Float32Array>
  readonly seconds: number
}

export interface Made {
  /** From the first gradient, except the ratio metrics, which cover all updates. */
  readonly computed: Computed
  /** Norm of the first gradient, before clipping. */
  readonly norm: number | undefined
  readonly updates: number
  readonly passes: number
  /** False if any loss or gradient was NaN or infinite. */
  readonly isFinite: boolean
  readonly computeSeconds: number
  readonly updateSeconds: number
}

const nothing: Computed = { loss: 0, figures: new Map(), isFinite: true, microBatches: 0, positions: 0 }

/** Averaged over all updates: at the first one the policy may not have moved yet. */
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
  /** Computes the gradient of the first update and passes its logprobs to `look`. Interruptible. */
  first: Effect.fnUntraced(function* (batch: WeightedBatch, clock: StepClock, look: LogprobCallback | undefined) {
    const oldLogprobs: Array<Float32Array> = []
    const keep: LogprobCallback = (item, logprobs) => {
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

  /** Makes all updates. Must not be interrupted: weights between two updates belong to no step. */
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
