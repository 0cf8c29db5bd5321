/**
 * Reads stored rollouts and related records: the basis of the viewer and its endpoints (`ViewerService`).
 *
 * `PgTrajectoryStore.layer` implements it over the service's database. Any other source of rollouts, for example a file
 * of JSON lines, can implement it and be viewed with
 *
 *     ViewerService.serve({ host: "127.0.0.1", port: 0 }).pipe(Layer.provide([reader, Auth.layerOpen]))
 *
 * Over a file: one run; the line number as the group's id, newest last; `RolloutText.ofMessages` for previews and text
 * filters, `RolloutText.matches` for the filter itself; the line as a payload of the format "json"; metrics, pieces,
 * settings, environments and batches empty if unavailable, and `Stream.never` for future metrics; no distributions
 * (null) if groups have no steps. A name other than the run's is `UnknownRun`.
 *
 * Reading has no side effects: nothing is claimed, marked or removed. A reset run stays readable under its name: its
 * consumed groups together with those of its successor, the rest until the name is used again.
 */
import { Context, type Effect, type Option, type Stream } from "effect"
import type { TrainedLogprobs, TrajectoryApi } from "@atropos/core"
import type * as RolloutText from "../rollout/RolloutText.ts"
import type { Payload, StoreError, UnknownRun } from "./TrajectoryStore.ts"

export interface Rollout extends TrajectoryApi.RolloutRow {
  readonly payload: Payload
  /** Its trainer's logprobs, if recorded. */
  readonly trained?: TrainedLogprobs.TrainedLogprobs
}

/** `before` is from the previous page's `next`. */
export interface RolloutFilter extends Omit<TrajectoryApi.RolloutQuery, "text" | "limit"> {
  readonly text?: RolloutText.Query
  readonly limit: number
}

export interface MetricsFilter {
  /** Rows after the one with this id. */
  readonly after?: string
  readonly source?: string
  readonly fromStep?: number
  readonly limit: number
}

type Reading<A> = Effect.Effect<A, StoreError | UnknownRun>

export interface RolloutReaderShape {
  /** Active runs, then ended ones; each most recently active first. */
  readonly runs: Effect.Effect<ReadonlyArray<TrajectoryApi.RunRow>, StoreError>
  readonly rollouts: (run: string, filter: RolloutFilter) => Reading<TrajectoryApi.RolloutPage>
  readonly rollout: (run: string, id: string) => Reading<Option.Option<Rollout>>
  /** Text of token ids; all known ones if no ids are given. */
  readonly pieces: (run: string, ids?: ReadonlyArray<number>) => Reading<ReadonlyMap<number, string>>
  readonly metrics: (run: string, filter: MetricsFilter) => Reading<TrajectoryApi.MetricsPage>
  /** Future rows: those after the id `after`, or from now on; never empty, never ends by itself. */
  readonly metricsToCome: (
    run: string,
    after: string | undefined
  ) => Reading<Stream.Stream<ReadonlyArray<TrajectoryApi.MetricsRow>, StoreError>>
  readonly environments: (run: string) => Reading<ReadonlyArray<TrajectoryApi.EnvironmentRow>>
  /** Null if not available. */
  readonly distribution: (
    run: string,
    query: TrajectoryApi.DistributionQuery
  ) => Reading<TrajectoryApi.Distribution | null>
  /** Settings at the start of the run: the trainer's, then those of its environments, newest first. */
  readonly settings: (run: string) => Reading<ReadonlyArray<TrajectoryApi.SourceSettingsRow>>
  /** The newest 100, newest first. */
  readonly batches: (run: string) => Reading<ReadonlyArray<TrajectoryApi.BatchRow>>
}

export class RolloutReader extends Context.Service<RolloutReader, RolloutReaderShape>()("@atropos/api/RolloutReader") {}
