/**
 * The trajectory service as environments and trainers see it. Layers: HTTP against our versioned endpoints, HTTP
 * against the original's endpoints (so that our environments work with a Python server), and in process without HTTP
 * (in `@atropos/api`).
 *
 * Submissions carry a key: sending twice stores once. Batches come under a lease: what is not acked in time goes to the
 * next claimer.
 */
import { Context, type Duration, type Effect, type Option, Schema, type Stream } from "effect"
import type { Batch } from "../Batch.ts"
import type * as ScoreAdvantage from "../ScoreAdvantage.ts"
import type { ScoredGroup } from "../ScoredGroup.ts"

/** What went wrong at the boundary to the trajectory service. */
export const TrajectoryFailure = Schema.Literals([
  "unreachable", // no connection, a timeout, or 5xx: trying again makes sense
  "overloaded", // 429 or 503 with Retry-After
  "rejected", // 4xx: the request is wrong; `message` names the field
  "unauthorized", // 401, 403
  "notFound", // no such run, environment or batch
  "leaseLost", // the batch went to somebody else
  "unsupported" // the server at the other end cannot do this
])

export class TrajectoryError extends Schema.TaggedError<TrajectoryError>()("TrajectoryError", {
  reason: TrajectoryFailure,
  message: Schema.String,
  retryAfterMillis: Schema.optionalKey(Schema.Finite),
  cause: Schema.optionalKey(Schema.Defect())
}) {}

/** What a trainer announces. */
export interface RunSpec {
  /** Name of the run; "default" is the one the original's endpoints speak of. */
  readonly name: string
  readonly batchSize: number
  readonly maxTokenLength: number
  /** Steps done before: the first batch makes the next one. */
  readonly startingStep: number
  readonly numSteps: number
  readonly checkpointDir: string
  readonly saveCheckpointInterval: number
  readonly wandbGroup: string
  readonly wandbProject: string
  /** How its trainer makes advantages of scores; a trainer that registers again tells it anew. */
  readonly advantages?: ScoreAdvantage.Recipe | null
}

/** What an environment announces. */
export interface EnvironmentSpec {
  readonly desiredName: string
  readonly weight: number
  readonly groupSize: number
  readonly maxTokenLength: number
  readonly minBatchAllocation: number | null
}

export interface Registration {
  readonly envId: number
  /** The unique name the service gave: desired name, underscore, number. */
  readonly name: string
  readonly startingStep: number
  readonly numSteps: number
  readonly checkpointDir: string
  readonly checkpointInterval: number
}

/** How full the queue is, as one environment sees it. Sizes are in groups of this environment's size. */
export interface EnvironmentStatus {
  /** Step of the newest batch; the run's starting step before the first. */
  readonly currentStep: number
  readonly queueSize: number
  readonly selfQueueSize: number
  readonly maxGroupSize: number
  readonly envWeight: number
  /** Share of a batch that no environment has reserved. */
  readonly unallocatedFraction: number
}

export interface KeyedGroup {
  /** UUID; a second submission with the same key changes nothing. */
  readonly key: string
  readonly group: ScoredGroup
}

export type SubmitOutcome =
  | { readonly status: "received" | "duplicate" }
  | { readonly status: "buffered"; readonly bufferSize: number }

/** An inference server as an environment sees it; latencies in seconds, null before the first answer. */
export interface ServerReport {
  readonly server: string
  readonly split: "train" | "eval"
  readonly healthy: boolean
  readonly inFlight: number
  readonly latencyMean: number | null
  readonly latencyP95: number | null
  readonly tokensPerSecond: number | null
  readonly failures: number
}

/** What an environment says of itself every few seconds, for people who look. */
export interface EnvironmentReport {
  /** Items being rolled out. */
  readonly running: number
  /** Groups the service has not answered for. */
  readonly unsent: number
  /** Items finished in the last minute. */
  readonly itemsPerMinute: number
  /** Rollouts that failed since the environment started. */
  readonly failures: number
  /** `at` in milliseconds since the epoch. */
  readonly lastError: { readonly at: number; readonly message: string } | null
  readonly servers: ReadonlyArray<ServerReport>
}

/** An environment's cursor and its own state, kept by the service under the environment's name. */
export interface SavedState {
  readonly step: number
  readonly value: unknown
}

export interface TrajectoryClientShape {
  readonly registerRun: (spec: RunSpec) => Effect.Effect<void, TrajectoryError>
  /** Batch size and token limit of the run; -1 each where no run is registered. */
  readonly runInfo: Effect.Effect<{ readonly batchSize: number; readonly maxTokenLength: number }, TrajectoryError>
  readonly wandbInfo: Effect.Effect<{ readonly group: string | null; readonly project: string | null }, TrajectoryError>
  /** None while the trainer has not started: ask again later. */
  readonly registerEnvironment: (spec: EnvironmentSpec) => Effect.Effect<Option.Option<Registration>, TrajectoryError>
  readonly disconnectEnvironment: (envId: number) => Effect.Effect<void, TrajectoryError>
  readonly submit: (
    envId: number,
    groups: ReadonlyArray<KeyedGroup>
  ) => Effect.Effect<ReadonlyArray<SubmitOutcome>, TrajectoryError>
  readonly status: (envId: number) => Effect.Effect<EnvironmentStatus, TrajectoryError>
  /** The status now and whenever it changes; pushed where the service can push, polled gently elsewhere. */
  readonly statusChanges: (envId: number) => Stream.Stream<EnvironmentStatus, TrajectoryError>
  readonly loadState: (environmentName: string) => Effect.Effect<Option.Option<SavedState>, TrajectoryError>
  readonly saveState: (environmentName: string, state: SavedState) => Effect.Effect<void, TrajectoryError>
  /** The next batch, waiting up to `wait` for one. */
  readonly claim: (options: {
    readonly owner: string
    readonly wait: Duration.Input
    readonly lease: Duration.Input
  }) => Effect.Effect<Option.Option<Batch>, TrajectoryError>
  /**
   * The batch was learned from. Again with the same token it succeeds too, so that it can be sent again when its answer
   * is lost.
   */
  readonly ack: (batch: Pick<Batch, "id" | "leaseToken">) => Effect.Effect<void, TrajectoryError>
  readonly nack: (batch: Pick<Batch, "id" | "leaseToken">) => Effect.Effect<void, TrajectoryError>
  /** Makes the lease last `lease` from now; works as long as nobody else has the batch. */
  readonly extend: (
    batch: Pick<Batch, "id" | "leaseToken">,
    lease: Duration.Input
  ) => Effect.Effect<void, TrajectoryError>
  /** Metrics of a step, from an environment or the trainer, for viewers and Prometheus. */
  readonly recordMetrics: (metrics: {
    readonly source: string
    readonly step: number
    readonly values: { readonly [name: string]: number }
  }) => Effect.Effect<void, TrajectoryError>
  /** Whether the service keeps what people look at: chats that no trainer asked for, the text of tokens, reports. */
  readonly servesViewers: Effect.Effect<boolean, TrajectoryError>
  /** The text of token ids; at most 20,000 at once. What is known already stays. */
  readonly recordPieces: (pieces: ReadonlyMap<number, string>) => Effect.Effect<void, TrajectoryError>
  readonly recordReport: (envId: number, report: EnvironmentReport) => Effect.Effect<void, TrajectoryError>
}

export class TrajectoryClient extends Context.Service<TrajectoryClient, TrajectoryClientShape>()(
  "@atropos/core/TrajectoryClient"
) {}
