/**
 * Defines the durable state of the trajectory service: runs, environments, groups, batches, saved state, metrics. The
 * viewer reads through `RolloutReader`.
 *
 * Guarantees: an acknowledged `submit` survives a crash of any process; a key is stored once; a group is in at most one
 * batch; the batches of a run are numbered `startingStep + 1`, `startingStep + 2`, … without gaps, like the trainer's
 * steps; a batch is handed to one claimer at a time, and again when its lease expires. Several processes may share one
 * database.
 *
 * Payloads are opaque bytes. The store only reads the envelope: counts, scores, environment.
 */
import { Context, type Duration, type Effect, type Option, Schema, type Stream } from "effect"
import type { PackedLogprobs, TelemetryClient, TrajectoryApi, TrajectoryApiError } from "@atropos/core"

/** The database is unavailable, or returned something unexpected. */
export class StoreError extends Schema.TaggedError<StoreError>()("StoreError", {
  message: Schema.String,
  isTransient: Schema.Boolean,
  /** The requested data no longer exists or is corrupt: no retry will find it. */
  isLost: Schema.optionalKey(Schema.Boolean),
  cause: Schema.Defect()
}) {}

export class UnknownRun extends Schema.TaggedError<UnknownRun>()("UnknownRun", { run: Schema.String }) {}
export class UnknownEnvironment extends Schema.TaggedError<UnknownEnvironment>()("UnknownEnvironment", {
  run: Schema.String,
  envId: Schema.Int
}) {}
/** Format of a payload: the original's JSON object of a group, or `PackedGroup`. */
export type PayloadFormat = "json" | "packed"

export interface Payload {
  readonly format: PayloadFormat
  /** Uncompressed; the store compresses. JSON payloads have all 14 wire keys in the original's order. */
  readonly bytes: Uint8Array
}

/** The database's columns of a group. */
export interface Envelope {
  /** G */
  readonly sequences: number
  /** Σ T_i */
  readonly tokens: number
  readonly scores: ReadonlyArray<number>
  /** Environment that sent it; null or unknown ids are queued as they come. */
  readonly envId: number | null
  /** Lowest policy version of its sequences, if known. */
  readonly policyStep: number | null
}

export interface Submission extends Envelope {
  /** UUID for idempotency; null: none (the original's clients). */
  readonly key: string | null
  readonly payload: Payload
  /** The stable id of its item, if sent. */
  readonly itemId?: string
  /** True if the payload contains chats; if absent, the payload is inspected. */
  readonly hasMessages?: boolean
}

/** A stored run. `registered` is false for a run that only has early data (parked until a trainer registers). */
export interface Run extends TrajectoryApi.Run {
  readonly id: number
  /** Milliseconds since the epoch. */
  readonly createdAt: number
}

/** An environment without its current report and statistics. */
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

/** The summary of a run with an empty queue. */
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
 * Telemetry of environments and trainers for the viewer, as declared by their client, for the run in the first
 * argument. Methods for an environment name it next, possibly one that does not exist. Evaluations have a separate
 * store, and logprobs need a lease.
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
  /** Succeeds if the database answers within two seconds and has space. */
  readonly ready: Effect.Effect<void, StoreError>
  /**
   * Registers a run. If it is already registered, returns it unchanged (the original's `/register`), except for the
   * rule of advantages, the staleness bound, and a larger number of steps.
   */
  readonly registerRun: (spec: TrajectoryApi.RunSpec) => Effect.Effect<Run, StoreError>
  /** Creates a run for a trainer to register later; none if there is one of this name. */
  readonly createRun: (name: string) => Effect.Effect<Option.Option<Run>, StoreError>
  readonly run: (name: string) => Effect.Effect<Option.Option<Run>, StoreError>
  /** Returns true if the run exists; needs no reload while only submissions and claims continue. */
  readonly hasRun: (name: string) => Effect.Effect<boolean, StoreError>
  readonly runs: Effect.Effect<ReadonlyArray<Run>, StoreError>
  /**
   * Marks the run as started (its trainer requested a batch); fails with UnknownRun if no trainer has registered it.
   */
  readonly start: (run: string) => Effect.Effect<void, StoreError | UnknownRun>
  /**
   * Ends the run: its environments, queue and step are cleared; consumed groups stay browsable. Does nothing if there
   * is no such run.
   */
  readonly reset: (run: string) => Effect.Effect<void, StoreError>
  /**
   * Deletes the run and ended runs of its name with all their data: they disappear immediately, and their storage is
   * reclaimed in the background. Refused while the run is in use: a batch is leased, or an environment or metrics were
   * active within a minute.
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
   * All or nothing; an unknown run is created and parked. Odd-sized groups of a known environment are buffered until
   * they combine.
   */
  readonly submit: (
    run: string,
    submissions: ReadonlyArray<Submission>
  ) => Effect.Effect<ReadonlyArray<TrajectoryApi.SubmitOutcome>, StoreError | TrajectoryApiError.QueueFull>
  readonly latest: (run: string) => Effect.Effect<Option.Option<StoredGroup>, StoreError>

  /** The oldest free batch (forming one if possible), or none. */
  readonly claim: (
    run: string,
    options: { readonly owner: string; readonly lease: Duration.Input }
  ) => Effect.Effect<Option.Option<ClaimedBatch>, StoreError | UnknownRun>
  /** Repeatable with the same token. */
  readonly ack: (batch: {
    readonly id: string
    readonly leaseToken: string
  }) => Effect.Effect<void, StoreError | TrajectoryApiError.LeaseLost>
  readonly nack: (batch: {
    readonly id: string
    readonly leaseToken: string
  }) => Effect.Effect<void, StoreError | TrajectoryApiError.LeaseLost>
  /** Marks that samplers have the weights made of the batch, and their policy version. */
  readonly trained: (batch: {
    readonly id: string
    readonly leaseToken: string
    readonly policyVersion?: number | undefined
  }) => Effect.Effect<void, StoreError | TrajectoryApiError.LeaseLost>
  readonly extendLease: (
    batch: { readonly id: string; readonly leaseToken: string },
    lease: Duration.Input
  ) => Effect.Effect<void, StoreError | TrajectoryApiError.LeaseLost>
  /**
   * Stores the logprobs a trainer computed of its batch, replacing earlier ones, so that repeated recording stores them
   * once. Requires the token under which the batch is held or was acknowledged.
   */
  readonly recordLogprobs: (
    run: string,
    batchId: string,
    logprobs: PackedLogprobs.RecordedLogprobs
  ) => Effect.Effect<void, StoreError | TrajectoryApiError.LeaseLost>

  /** Formulas of the original's `/status-env`, with the division by zero fixed. */
  readonly status: (
    run: string,
    envId: number
  ) => Effect.Effect<TrajectoryApi.EnvironmentStatus, StoreError | UnknownEnvironment>
  /**
   * Requests permits to start rollouts; returns how many of `more` are granted, and the policy version that samplers
   * must have for them. All environments together never exceed the run's bound (`StalenessBound`), across processes;
   * all are granted without a bound.
   */
  readonly begin: (
    run: string,
    envId: number,
    request: TrajectoryApi.Begin
  ) => Effect.Effect<TrajectoryApi.Begun, StoreError | UnknownEnvironment>
  readonly summary: (run: string) => Effect.Effect<TrajectoryApi.QueueSummary, StoreError>
  /** Emits after every change of the run's queue, step or environments, by this process or another; conflated. */
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
