/** Options of a run of environments other than their settings, and its errors. */
import { type Duration, Effect, Schema, type Stream } from "effect"
import type { Totals } from "./RolloutMetrics.ts"

export class RolloutError extends Schema.TaggedError<RolloutError>()("RolloutError", {
  environment: Schema.String,
  reason: Schema.Literals([
    "settings", // they do not fit the run
    "service", // the service rejected something permanently
    "state", // saved state, spool or files cannot be used
    "items", // the item source failed
    "all" // no environment of the program is left
  ]),
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

export const failing =
  (environment: string, reason: RolloutError["reason"]) =>
  (cause: Error): RolloutError =>
    new RolloutError({ environment, reason, message: cause.message, cause })

export interface Options {
  /** Folder for groups waiting for the service, and for dead letters. Default `.atropos/spool`. */
  readonly spoolDirectory?: string
  /** Max bytes of groups waiting on disk, per environment. Default 1 GiB. */
  readonly spoolMaxBytes?: number
  /** Max groups kept in memory if the spool cannot take them, before rollouts pause. Default 256. */
  readonly maxGroupsInMemory?: number
  /** Attempts per item before it becomes a dead letter. Default 3. */
  readonly maxItemAttempts?: number
  /** Evaluates before the first step. Default false, as the original. */
  readonly evaluateAtStart?: boolean
  /** Evaluates after the last step. Default false, as the original. */
  readonly evaluateAtEnd?: boolean
  /** Time that rollouts in progress get to finish when the program is stopped. Default 5 seconds. */
  readonly stopWithin?: Duration.Input
  /** Keeps rollouts on-policy; see `OnPolicy`. Default: only the queue limits them. */
  readonly onPolicy?: OnPolicy
}

/**
 * Starts rollouts for trainer step s once the samplers have weights of version s - `stepsAhead` or newer, so that no
 * trajectory is staler than `stepsAhead` steps if the environment has the queue for itself.
 */
export interface OnPolicy {
  /**
   * The current version and all later ones: the number of updates in the weights that new requests are sampled from.
   */
  readonly versions: Stream.Stream<number>
  /** 0: strictly on-policy; 1: sampling continues while the trainer trains. */
  readonly stepsAhead: number
}

export type Complete = Required<Omit<Options, "onPolicy">> & Pick<Options, "onPolicy">

export const defaults: Complete = {
  spoolDirectory: ".atropos/spool",
  spoolMaxBytes: 1024 ** 3,
  maxGroupsInMemory: 256,
  maxItemAttempts: 3,
  evaluateAtStart: false,
  evaluateAtEnd: false,
  stopWithin: "5 seconds"
}

export interface Summary extends Totals {
  readonly environment: string
  /** The trainer's step at the end. */
  readonly step: number
  readonly evaluations: number
}

/** Rejects settings that do not fit the run, and suggests ones that do; warns of those that need other environments. */
export const checkSettings = (
  environment: string,
  groupSize: number,
  batchSize: number,
  totalSteps: number
): Effect.Effect<void, RolloutError> => {
  const refuse = (message: string) => Effect.fail(new RolloutError({ environment, reason: "settings", message }))
  if (batchSize <= 0) {
    return refuse("the service does not report the run's batch size: register the trainer first, or set batch_size")
  }
  if (groupSize > batchSize) {
    return refuse(
      `group_size is ${groupSize}, but the run's batches have ${batchSize} sequences: ` +
        `lower group_size to ${batchSize} or less, or raise the trainer's batch size`
    )
  }
  if (totalSteps === -1) {
    return refuse("total_steps is -1, but the run has no number of steps: set total_steps")
  }
  // Batches are filled exactly, which groups of other sizes may help to.
  return batchSize % groupSize === 0
    ? Effect.void
    : Effect.logWarning(
        "groups of this size alone never fill a batch: set group_size to a divisor of the run's batch size, unless other environments complete it",
        { group_size: groupSize, batch_size: batchSize }
      )
}
