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
 * the line as a payload of the format "json"; metrics, pieces, environments and batches empty where there are none, and
 * `Stream.never` for metrics to come. A name that is not the run's is `UnknownRun`.
 *
 * Reading disturbs nobody: nothing here claims, marks or removes. A run that was reset stays readable under its name:
 * its consumed groups beside those of its successor, the rest until the name is taken again.
 */
import { Context, type Effect, type Option, type Stream } from "effect"
import type { TrajectoryApi } from "@atropos/core"
import type * as RolloutText from "../rollout/RolloutText.ts"
import type { EnvironmentRow, Envelope, Payload, Run, StoreError, UnknownRun } from "./TrajectoryStore.ts"

/** A run in a list. */
export interface RunRow extends Omit<Run, "id"> {
  /** It was reset, and nobody has taken its name since. */
  readonly ended: boolean
}

/** One stored group without its numbers. */
export interface RolloutRow extends Envelope {
  readonly id: string
  readonly environment: string | null
  /** Of its batch. */
  readonly step: number | null
  readonly state: "buffered" | "queued" | "formed" | "leased" | "consumed"
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  /**
   * The beginning of the item's question, the prompt's last user message; null without messages, and where the group's
   * text was not looked at yet.
   */
  readonly preview: string | null
}

/** One stored group whole. */
export interface Rollout extends RolloutRow {
  readonly payload: Payload
}

export interface RolloutFilter {
  readonly environment?: string
  readonly stepFrom?: number
  readonly stepTo?: number
  /** Bounds, both inclusive, of the mean of a group's scores. */
  readonly scoreFrom?: number
  readonly scoreTo?: number
  readonly text?: RolloutText.Query
  /** Groups with an id below this one (newest first); from the previous page's `next`. */
  readonly before?: string
  readonly limit: number
}

export interface RolloutPage {
  readonly rows: ReadonlyArray<RolloutRow>
  readonly next: string | null
  /** Groups that match; null on all pages but the first. */
  readonly total: number | null
  /** Groups of the run whose text is not searched yet; null on all pages but the first. */
  readonly unindexed: number | null
}

export interface MetricsRow {
  readonly id: string
  readonly source: string
  readonly step: number
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly values: { readonly [name: string]: number }
}

export interface MetricsFilter {
  /** Rows after the one with this id. */
  readonly after?: string
  readonly source?: string
  readonly fromStep?: number
  readonly limit: number
}

/** Oldest first; `next` is the `after` of the page after, null where there is none yet. */
export interface MetricsPage {
  readonly metrics: ReadonlyArray<MetricsRow>
  readonly next: string | null
}

export interface ReadEnvironment extends EnvironmentRow {
  /** What it last said of itself, and when that came (milliseconds since the epoch). */
  readonly report: (TrajectoryApi.EnvironmentReport & { readonly at: number }) | null
  /** Its part of the sequences of the last 20 batches; null without any. */
  readonly share: number | null
  /** Sequences that came in the last minute. */
  readonly rolloutsPerMinute: number
}

/** A batch without its groups; `free` waits for a claimer. */
export interface BatchRow {
  readonly id: string
  readonly step: number
  readonly sequences: number
  readonly groups: number
  readonly state: "leased" | "free" | "acked"
  /** Who claimed it last. */
  readonly leaseOwner: string | null
  readonly leaseUntil: number | null
  readonly deliveries: number
  readonly createdAt: number
  readonly ackedAt: number | null
}

type Reading<A> = Effect.Effect<A, StoreError | UnknownRun>

export interface RolloutReaderShape {
  /** Those under way, then those that have ended; of each, where something happened last first. */
  readonly runs: Effect.Effect<ReadonlyArray<RunRow>, StoreError>
  readonly rollouts: (run: string, filter: RolloutFilter) => Reading<RolloutPage>
  readonly rollout: (run: string, id: string) => Reading<Option.Option<Rollout>>
  /** Text of token ids, all that are known where no ids are named. */
  readonly pieces: (run: string, ids?: ReadonlyArray<number>) => Reading<ReadonlyMap<number, string>>
  readonly metrics: (run: string, filter: MetricsFilter) => Reading<MetricsPage>
  /**
   * Rows as they come, after the one with the id `after`, or those that come from now on; never empty, never ends by
   * itself.
   */
  readonly metricsToCome: (
    run: string,
    after: string | undefined
  ) => Reading<Stream.Stream<ReadonlyArray<MetricsRow>, StoreError>>
  readonly environments: (run: string) => Reading<ReadonlyArray<ReadEnvironment>>
  /** The newest 100, newest first. */
  readonly batches: (run: string) => Reading<ReadonlyArray<BatchRow>>
}

export class RolloutReader extends Context.Service<RolloutReader, RolloutReaderShape>()("@atropos/api/RolloutReader") {}
