/**
 * The durable state of the trajectory service: runs, environments, groups, batches, saved state, metrics. What people
 * look at is read through `RolloutReader`.
 *
 * Guarantees: an answered `submit` survives a crash of any process; a key is stored once; a group is in at most one
 * batch; the batches of a run number `startingStep + 1`, `startingStep + 2`, … without gaps, as the trainer does its
 * steps; a batch is handed to one claimer at a time, and again when its lease runs out. Several processes may share one
 * database.
 *
 * Payloads are opaque bytes. The store looks at the envelope only: counts, scores, environment.
 */
import { Context, type Duration, type Effect, type Option, Schema, type Stream } from "effect"
import type { PackedLogprobs, TelemetryClient, TrajectoryApi, TrajectoryApiError } from "@atropos/core"

/** The database is away, or said something it should not. */
export class StoreError extends Schema.TaggedError<StoreError>()("StoreError", {
  message: Schema.String,
  isTransient: Schema.Boolean,
  /** What was asked for is not there any more, or is not what was written: no later attempt will find it. */
  isLost: Schema.optionalKey(Schema.Boolean),
  cause: Schema.Defect()
}) {}

export class UnknownRun extends Schema.TaggedError<UnknownRun>()("UnknownRun", { run: Schema.String }) {}
export class UnknownEnvironment extends Schema.TaggedError<UnknownEnvironment>()("UnknownEnvironment", {
  run: Schema.String,
  envId: Schema.Int
}) {}
/** How the bytes of a payload are to be read: the original's JSON object of a group, or `PackedGroup`. */
export type PayloadFormat = "json" | "packed"

export interface Payload {
  readonly format: PayloadFormat
  /** Uncompressed; the store compresses. JSON payloads carry all 14 wire keys in the original's order. */
  readonly bytes: Uint8Array
}

/** What the database knows of a group. */
export interface Envelope {
  /** G */
  readonly sequences: number
  /** Σ T_i */
  readonly tokens: number
  readonly scores: ReadonlyArray<number>
  /** Environment that sent it; null or unknown ids are queued as they come. */
  readonly envId: number | null
  /** Lowest policy version of its sequences, where known. */
  readonly policyStep: number | null
}

export interface Submission extends Envelope {
  /** UUID for idempotency; null: none (the original's clients). */
  readonly key: string | null
  readonly payload: Payload
  /** The lasting id of its item, where the sender told it. */
  readonly itemId?: string
  /** Whether there are chats in the payload; where it is not told, somebody looks. */
  readonly hasMessages?: boolean
}

/** A run as stored. `registered` is false for a run that only has early data (parked until a trainer registers). */
export interface Run extends TrajectoryApi.Run {
  readonly id: number
}

/** An environment, without what it and the service say of it now. */
export type RegisteredEnvironment = Omit<TrajectoryApi.EnvironmentRow, "report" | "share" | "rolloutsPerMinute">

export interface StoredGroup extends Envelope {
  readonly id: string
  readonly payload: Payload
  /** Milliseconds since the epoch. */
  readonly createdAt: number
}

export interface ClaimedBatch extends TrajectoryApi.BatchHead {
  readonly groups: ReadonlyArray<StoredGroup>
}

/** The summary of a run in which nothing waits. */
export const noQueue: TrajectoryApi.QueueSummary = {
  currentStep: 0,
  queuedGroups: 0,
  queuedSequences: 0,
  queuedBytes: 0,
  bufferedGroups: 0,
  formedBatches: 0,
  leasedBatches: 0,
  stuck: []
}

/**
 * What environments and trainers report for people who look, as their client declares it, of the run named first. What
 * is of one environment names it next, and may name one that does not exist. Evaluations have a store of their own, and
 * logprobs a lease.
 */
export type Telemetry = {
  readonly [Method in Exclude<keyof TelemetryClient.Telemetry, "recordEvaluation" | "recordLogprobs">]: (
    run: string,
    ...args: Parameters<TelemetryClient.Telemetry[Method]>
  ) => Effect.Effect<
    void,
    Parameters<TelemetryClient.Telemetry[Method]>[0] extends number ? StoreError | UnknownEnvironment : StoreError
  >
}

export interface TrajectoryStoreShape extends Telemetry {
  /** Succeeds where the database answers within two seconds, and has room. */
  readonly ready: Effect.Effect<void, StoreError>
  /**
   * Registers a run; where it is registered already, answers with it unchanged (the original's `/register`), but for
   * the rule of advantages, the bound that environments wait at, and the number of steps where this is larger.
   */
  readonly registerRun: (spec: TrajectoryApi.RunSpec) => Effect.Effect<Run, StoreError>
  readonly run: (name: string) => Effect.Effect<Option.Option<Run>, StoreError>
  /** Whether there is a run of that name; costs nothing while submissions and claims go on. */
  readonly hasRun: (name: string) => Effect.Effect<boolean, StoreError>
  readonly runs: Effect.Effect<ReadonlyArray<Run>, StoreError>
  /** Marks the run as started (its trainer asked for a batch); a run that no trainer has registered is unknown. */
  readonly start: (run: string) => Effect.Effect<void, StoreError | UnknownRun>
  /**
   * Ends the run: environments, queue and step are gone from it; what was consumed stays browsable. Nothing happens
   * where there is none.
   */
  readonly reset: (run: string) => Effect.Effect<void, StoreError>
  /**
   * Deletes the run and those of its name that have ended, with all that is kept of them: nobody finds them from then
   * on, and what they took is removed by and by. Refused while somebody is at work on it: a batch is leased, or an
   * environment or metrics came within a minute.
   */
  readonly deleteRun: (run: string) => Effect.Effect<void, StoreError | UnknownRun | TrajectoryApiError.RunInUse>

  /** None until the run is started. */
  readonly registerEnvironment: (
    run: string,
    spec: TrajectoryApi.EnvironmentSpec
  ) => Effect.Effect<Option.Option<TrajectoryApi.Registration>, StoreError>
  readonly disconnectEnvironment: (run: string, envId: number) => Effect.Effect<void, StoreError | UnknownEnvironment>
  readonly environments: (run: string) => Effect.Effect<ReadonlyArray<RegisteredEnvironment>, StoreError>

  /**
   * All or nothing; an unknown run is made and parked. Odd-sized groups of a known environment are buffered until they
   * combine.
   */
  readonly submit: (
    run: string,
    submissions: ReadonlyArray<Submission>
  ) => Effect.Effect<ReadonlyArray<TrajectoryApi.SubmitOutcome>, StoreError | TrajectoryApiError.QueueFull>
  readonly latest: (run: string) => Effect.Effect<Option.Option<StoredGroup>, StoreError>

  /** The oldest batch that is free (forming what can be formed), or none. */
  readonly claim: (
    run: string,
    options: { readonly owner: string; readonly lease: Duration.Input }
  ) => Effect.Effect<Option.Option<ClaimedBatch>, StoreError | UnknownRun>
  /** Succeeds again with the token it succeeded with. */
  readonly ack: (batch: {
    readonly id: string
    readonly leaseToken: string
  }) => Effect.Effect<void, StoreError | TrajectoryApiError.LeaseLost>
  readonly nack: (batch: {
    readonly id: string
    readonly leaseToken: string
  }) => Effect.Effect<void, StoreError | TrajectoryApiError.LeaseLost>
  /** Samplers have the weights that were made of the batch. */
  readonly trained: (batch: {
    readonly id: string
    readonly leaseToken: string
  }) => Effect.Effect<void, StoreError | TrajectoryApiError.LeaseLost>
  readonly extendLease: (
    batch: { readonly id: string; readonly leaseToken: string },
    lease: Duration.Input
  ) => Effect.Effect<void, StoreError | TrajectoryApiError.LeaseLost>
  /**
   * Keeps what the trainer of a batch computed of its sequences, in place of what was recorded of it before: recording
   * twice keeps it once. For whoever holds the batch under this token, or acknowledged it with that.
   */
  readonly recordLogprobs: (
    run: string,
    batchId: string,
    logprobs: PackedLogprobs.RecordedLogprobs
  ) => Effect.Effect<void, StoreError | TrajectoryApiError.LeaseLost>

  /** Formulas of the original's `/status-env`, division by zero mended. */
  readonly status: (
    run: string,
    envId: number
  ) => Effect.Effect<TrajectoryApi.EnvironmentStatus, StoreError | UnknownEnvironment>
  /**
   * Leave to begin rollouts: how many of `more`. Together, environments that ask never get more than the run's bound
   * leaves (`StalenessBound`), in whatever processes; all where it has none.
   */
  readonly begin: (
    run: string,
    envId: number,
    request: TrajectoryApi.Begin
  ) => Effect.Effect<number, StoreError | UnknownEnvironment>
  readonly summary: (run: string) => Effect.Effect<TrajectoryApi.QueueSummary, StoreError>
  /**
   * Emits (the run's name) after every change of its queue, step or environments, from this process or another;
   * conflated.
   */
  readonly changes: (run: string) => Stream.Stream<void>

  readonly loadState: (
    run: string,
    environmentName: string
  ) => Effect.Effect<Option.Option<TrajectoryApi.SavedState>, StoreError>
  readonly saveState: (
    run: string,
    environmentName: string,
    state: TrajectoryApi.SavedState
  ) => Effect.Effect<void, StoreError>
}

export class TrajectoryStore extends Context.Service<TrajectoryStore, TrajectoryStoreShape>()(
  "@atropos/api/TrajectoryStore"
) {}
