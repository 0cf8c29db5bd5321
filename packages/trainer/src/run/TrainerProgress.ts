/**
 * Tracks training progress in memory: the changing part of `trainer.json`, and the batches waiting for a checkpoint.
 */
import type { Batch } from "@atropos/core"
import * as TrainerState from "../checkpoint/TrainerState.ts"
import type { Lease } from "./Leases.ts"
import type { StepMetrics } from "./StepMetrics.ts"

export interface TrainerProgress {
  readonly step: number
  readonly policyVersion: number
  readonly nonFiniteInARow: number
  readonly nextBatchStep: number | null
  /** Classifies a batch: new, trained on but not in a checkpoint, or in one. Remembers its newest lease. */
  readonly recognise: (batch: Batch.Batch) => "new" | "unsettled" | "settled"
  readonly isSettled: (batch: TrainerState.Consumed) => boolean
  /** Counts a batch that was just trained on or skipped; `isFinite`: all computed values were finite. */
  readonly consume: (batch: Batch.Batch, skipped: StepMetrics["skipped"], isFinite: boolean) => void
  /** Returns the batches that no checkpoint contained; they count as settled from then on. */
  readonly takeUnsettled: () => ReadonlyArray<Lease>
  readonly state: (
    about: Pick<TrainerState.TrainerState, "model" | "seed" | "settings">
  ) => Omit<TrainerState.TrainerState, "weights">
}

const keyOf = ({ id, step }: TrainerState.Consumed): string => `${step}/${id}`

export const make = (from: TrainerState.TrainerState | undefined): TrainerProgress => {
  let { nextBatchStep, nonFiniteInARow, policyVersion, skipped, step } = from ?? {
    step: 0,
    policyVersion: 0,
    skipped: 0,
    nonFiniteInARow: 0,
    nextBatchStep: null
  }
  const consumed = new Map((from?.consumed ?? []).map((one) => [keyOf(one), one]))
  const unsettled = new Map<string, Lease>()

  return {
    get step() {
      return step
    },
    get policyVersion() {
      return policyVersion
    },
    get nonFiniteInARow() {
      return nonFiniteInARow
    },
    get nextBatchStep() {
      return nextBatchStep
    },
    recognise: ({ id, leaseToken, step }) => {
      const key = keyOf({ id, step })
      if (!consumed.has(key)) return "new"
      if (!unsettled.has(key)) return "settled"
      unsettled.set(key, { id, step, leaseToken })
      return "unsettled"
    },
    isSettled: (batch) => consumed.has(keyOf(batch)) && !unsettled.has(keyOf(batch)),
    consume: ({ id, leaseToken, step: batchStep }, reason, isFinite) => {
      const key = keyOf({ id, step: batchStep })
      step++
      if (reason === null) policyVersion++
      else skipped++
      if (reason !== "nothingToTrain") nonFiniteInARow = isFinite ? 0 : nonFiniteInARow + 1
      nextBatchStep = Math.max(nextBatchStep ?? 0, batchStep + 1)
      unsettled.set(key, { id, step: batchStep, leaseToken })
      consumed.set(key, { id, step: batchStep })
      const [oldest] = consumed.keys()
      // Never a batch that still waits for its checkpoint.
      if (consumed.size > TrainerState.remembered && oldest !== undefined && !unsettled.has(oldest)) {
        consumed.delete(oldest)
      }
    },
    takeUnsettled: () => {
      const taken = [...unsettled.values()]
      unsettled.clear()
      return taken
    },
    state: (about) => ({
      version: 2,
      step,
      policyVersion,
      skipped,
      nonFiniteInARow,
      consumed: [...consumed.values()],
      nextBatchStep,
      ...about
    })
  }
}
