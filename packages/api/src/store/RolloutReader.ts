/**
 * Stored rollouts and what is kept beside them, for reading: what the viewer and its endpoints (`ViewerService`) stand
 * on.
 *
 * `PgTrajectoryStore.layer` implements it over the service's database. Anything else that has rollouts can implement it
 * too, a file of JSON lines for example, and be viewed with
 *
 *     ViewerService.serve({ host: "127.0.0.1", port: 0 }).pipe(Layer.provide([reader, Auth.layerOpen]))
 *
 * To implement it over a file: one run; the number of a line as the id of its group, newest last;
 * `RolloutText.ofMessages` for the preview and what `text` filters search, `RolloutText.matches` for the filter itself;
 * the line as a payload of the format "json"; metrics, pieces, settings, environments and batches empty where there are
 * none, and `Stream.never` for metrics to come; no distributions (null) where groups have no steps. A name
 * that is not the run's is `UnknownRun`.
 *
 * Reading disturbs nobody: nothing here claims, marks or removes. A run that was reset stays readable under its name:
 * its consumed groups beside those of its successor, the rest until the name is taken again.
 */
import { Context, type Effect, type Option, type Stream } from "effect"
import type { TrainedLogprobs, TrajectoryApi } from "@atropos/core"
import type * as RolloutText from "../rollout/RolloutText.ts"
import type { Payload, StoreError, UnknownRun } from "./TrajectoryStore.ts"

/** One stored group whole. */
export interface Rollout extends TrajectoryApi.RolloutRow {
  readonly payload: Payload
  /** What its trainer computed of it, where that was recorded. */
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
  /** Those under way, then those that have ended; of each, where something happened last first. */
  readonly runs: Effect.Effect<ReadonlyArray<TrajectoryApi.RunRow>, StoreError>
  readonly rollouts: (run: string, filter: RolloutFilter) => Reading<TrajectoryApi.RolloutPage>
  readonly rollout: (run: string, id: string) => Reading<Option.Option<Rollout>>
  /** Text of token ids, all that are known where no ids are named. */
  readonly pieces: (run: string, ids?: ReadonlyArray<number>) => Reading<ReadonlyMap<number, string>>
  readonly metrics: (run: string, filter: MetricsFilter) => Reading<TrajectoryApi.MetricsPage>
  /**
   * Rows as they come, after the one with the id `after`, or those that come from now on; never empty, never ends by
   * itself.
   */
  readonly metricsToCome: (
    run: string,
    after: string | undefined
  ) => Reading<Stream.Stream<ReadonlyArray<TrajectoryApi.MetricsRow>, StoreError>>
  readonly environments: (run: string) => Reading<ReadonlyArray<TrajectoryApi.EnvironmentRow>>
  /** Null where there is nothing to tell. */
  readonly distribution: (
    run: string,
    query: TrajectoryApi.DistributionQuery
  ) => Reading<TrajectoryApi.Distribution | null>
  /** What the run was started with: the trainer's, then those of its environments, newest first. */
  readonly settings: (run: string) => Reading<ReadonlyArray<TrajectoryApi.SourceSettingsRow>>
  /** The newest 100, newest first. */
  readonly batches: (run: string) => Reading<ReadonlyArray<TrajectoryApi.BatchRow>>
}

export class RolloutReader extends Context.Service<RolloutReader, RolloutReaderShape>()("@atropos/api/RolloutReader") {}
