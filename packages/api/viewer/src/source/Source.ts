/**
 * Where the viewer's rollouts and metrics come from: a trajectory service (`HttpSource`) or the page itself
 * (`InlineSource`).
 *
 * Every method rejects with a `SourceError` and nothing else, except that an aborted request rejects with the signal's
 * reason.
 */
import type { Reach } from "./Reach.ts"
import type * as Wire from "./Wire.ts"

/** Why nothing came: `unauthorized` asks for a token, `static` means that a saved page has no such thing. */
export type SourceErrorKind = "unauthorized" | "forbidden" | "not-found" | "unreachable" | "static" | "failed"

export class SourceError extends Error {
  readonly kind: SourceErrorKind
  constructor(kind: SourceErrorKind, message: string) {
    super(message)
    this.name = "SourceError"
    this.kind = kind
  }
}

/**
 * How a watch fares: `connecting` at first, `live` while events come, `waiting` between an interruption and the next
 * try.
 */
export type WatchState = "connecting" | "live" | "waiting"

export interface Watcher<A> {
  readonly onEvent: (event: A) => void
  readonly onState?: (state: WatchState, problem: SourceError | null) => void
}

/** Ends a watch. */
export type Unwatch = () => void

/** Notes on rollouts, where somebody keeps them. */
export interface NoteKeeper {
  readonly list: (run: string, signal?: AbortSignal) => Promise<ReadonlyArray<Wire.Note>>
  readonly write: (run: string, group: string, change: Wire.NoteChange) => Promise<void>
}

/** What an administrator may do. */
export interface Administration {
  /** Whether whoever looks may delete runs. */
  readonly mayDelete: (signal?: AbortSignal) => Promise<boolean>
  /** Deletes a run with all that is kept of it; rejects where it is at work, in words. */
  readonly deleteRun: (run: string) => Promise<void>
}

export interface Source {
  /** Whether it answers. */
  readonly reach: Reach
  /** The newest step of a run that it told, by whatever it told; null where nothing is known. */
  readonly stepOf: (run: string) => number | null
  /** Whether it may change: there is a program behind it. */
  readonly isLive: boolean
  /**
   * Whether groups come from a service: else there are no environments, batches, summary and states of groups to show.
   */
  readonly hasService: boolean
  /** Whether there may be curves. */
  readonly hasMetrics: boolean
  /** The run to show if the address names none, registered or not; null: where something happened last. */
  readonly opens: string | null
  /** What a saved page is about. */
  readonly title: string | null
  readonly runs: (signal?: AbortSignal) => Promise<ReadonlyArray<Wire.Run>>
  readonly browse: (run: string, query: Wire.RolloutQuery, signal?: AbortSignal) => Promise<Wire.RolloutPage>
  readonly rollout: (run: string, id: string, signal?: AbortSignal) => Promise<Wire.Rollout>
  /** Text of the ids that are known; others are absent. */
  readonly pieces: (run: string, ids: ReadonlyArray<number>, signal?: AbortSignal) => Promise<Wire.Pieces>
  readonly metrics: (run: string, query: Wire.MetricsQuery, signal?: AbortSignal) => Promise<Wire.MetricsPage>
  /** Of the newest groups; null where there is nothing to tell. */
  readonly distribution: (
    run: string,
    query: Wire.DistributionQuery,
    signal?: AbortSignal
  ) => Promise<Wire.Distribution | null>
  /** What scoring its groups again came to; null where nobody did. */
  readonly reverified: (run: string) => Promise<Wire.Reverified | null>
  /** What the run was started with: its trainer, then its environments; none where nobody told. */
  readonly settings: (run: string, signal?: AbortSignal) => Promise<ReadonlyArray<Wire.SourceSettings>>
  /** Null where nobody keeps any. */
  readonly notes: NoteKeeper | null
  /** Null where there is nothing to administrate. */
  readonly administration: Administration | null
  readonly environments: (run: string, signal?: AbortSignal) => Promise<ReadonlyArray<Wire.EnvironmentRow>>
  /** Names to filter rollouts by. */
  readonly environmentNames: (run: string, signal?: AbortSignal) => Promise<ReadonlyArray<string>>
  /** Newest first, at most 1000; of all runs, and of none. */
  readonly evaluations: (signal?: AbortSignal) => Promise<ReadonlyArray<Wire.EvaluationRow>>
  readonly evaluation: (id: string, signal?: AbortSignal) => Promise<Wire.EvaluationRow>
  /** All that are stored, in their order. */
  readonly evaluationSamples: (id: string, signal?: AbortSignal) => Promise<ReadonlyArray<Wire.EvaluationSampleRow>>
  /** A line of `samples.jsonl`, not checked here (see `evaluation/Sample.ts`). */
  readonly evaluationSample: (id: string, number: number, signal?: AbortSignal) => Promise<unknown>
  /** Newest first, at most 100. */
  readonly batches: (run: string, signal?: AbortSignal) => Promise<ReadonlyArray<Wire.BatchRow>>
  readonly summary: (run: string, signal?: AbortSignal) => Promise<Wire.QueueSummary>
  /**
   * Metrics rows after the id `after` (null: from now on) as they come; picks up where it was after an interruption.
   */
  readonly watchMetrics: (
    run: string,
    after: string | null,
    watcher: Watcher<ReadonlyArray<Wire.MetricsRow>>
  ) => Unwatch
  /** The summary now and whenever it changes. */
  readonly watchSummary: (run: string, watcher: Watcher<Wire.QueueSummary>) => Unwatch
}
