/**
 * Defines the viewer's source of rollouts and metrics: a trajectory service (`HttpSource`) or the page itself
 * (`InlineSource`). Every method rejects only with `SourceError`, except that an aborted request rejects with the
 * signal's reason.
 */
import type { Reach } from "./Reach.ts"
import type * as Wire from "./Wire.ts"

/** The cause of a failure: `unauthorized` prompts for a token, `static` means that a saved page does not have this. */
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
 * State of a watch: `connecting` at first, `live` while events arrive, `waiting` between an interruption and the next
 * attempt.
 */
export type WatchState = "connecting" | "live" | "waiting"

export interface Watcher<A> {
  readonly onEvent: (event: A) => void
  readonly onState?: (state: WatchState, problem: SourceError | null) => void
}

export type Unwatch = () => void

export interface NoteKeeper {
  readonly list: (run: string, signal?: AbortSignal) => Promise<ReadonlyArray<Wire.Note>>
  readonly write: (run: string, group: string, change: Wire.NoteChange) => Promise<void>
}

export interface Administration {
  /** True if the viewer's token permits deleting runs. */
  readonly mayDelete: (signal?: AbortSignal) => Promise<boolean>
  /** Deletes a run with all its data; rejects with a reason if it is in use. */
  readonly deleteRun: (run: string) => Promise<void>
}

export interface Source {
  readonly reach: Reach
  /** The newest step of a run in any response so far; null if unknown. */
  readonly stepOf: (run: string) => number | null
  /** True if there is a program behind it, so that data may change. */
  readonly isLive: boolean
  /** True if groups come from a service; otherwise environments, batches, summary and group states are missing. */
  readonly hasService: boolean
  readonly hasMetrics: boolean
  /** The run to show if the address names none, registered or not; null: the most recently active. */
  readonly opens: string | null
  readonly title: string | null
  readonly runs: (signal?: AbortSignal) => Promise<ReadonlyArray<Wire.Run>>
  readonly browse: (run: string, query: Wire.RolloutQuery, signal?: AbortSignal) => Promise<Wire.RolloutPage>
  readonly rollout: (run: string, id: string, signal?: AbortSignal) => Promise<Wire.Rollout>
  /** Text of known ids; others are absent. */
  readonly pieces: (run: string, ids: ReadonlyArray<number>, signal?: AbortSignal) => Promise<Wire.Pieces>
  readonly metrics: (run: string, query: Wire.MetricsQuery, signal?: AbortSignal) => Promise<Wire.MetricsPage>
  /** Covers the newest groups; null if not available. */
  readonly distribution: (
    run: string,
    query: Wire.DistributionQuery,
    signal?: AbortSignal
  ) => Promise<Wire.Distribution | null>
  /** Re-scoring results; null if none. */
  readonly reverified: (run: string) => Promise<Wire.Reverified | null>
  /** Settings at the start of the run: its trainer's, then its environments'; empty if unknown. */
  readonly settings: (run: string, signal?: AbortSignal) => Promise<ReadonlyArray<Wire.SourceSettings>>
  /** Null if notes are not stored. */
  readonly notes: NoteKeeper | null
  /** Null if not supported. */
  readonly administration: Administration | null
  /** The last lines printed by the process of the service. */
  readonly console: (signal?: AbortSignal) => Promise<Wire.ConsoleOutput>
  readonly environments: (run: string, signal?: AbortSignal) => Promise<ReadonlyArray<Wire.EnvironmentRow>>
  /** Names to filter rollouts by. */
  readonly environmentNames: (run: string, signal?: AbortSignal) => Promise<ReadonlyArray<string>>
  /** Newest first, at most 1000; of all runs, and those without a run. */
  readonly evaluations: (signal?: AbortSignal) => Promise<ReadonlyArray<Wire.EvaluationRow>>
  readonly evaluation: (id: string, signal?: AbortSignal) => Promise<Wire.EvaluationRow>
  /** All stored samples, in order. */
  readonly evaluationSamples: (id: string, signal?: AbortSignal) => Promise<ReadonlyArray<Wire.EvaluationSampleRow>>
  /** A line of `samples.jsonl`, not validated here (see `evaluation/Sample.ts`). */
  readonly evaluationSample: (id: string, number: number, signal?: AbortSignal) => Promise<unknown>
  /** Newest first, at most 100. */
  readonly batches: (run: string, signal?: AbortSignal) => Promise<ReadonlyArray<Wire.BatchRow>>
  readonly summary: (run: string, signal?: AbortSignal) => Promise<Wire.QueueSummary>
  /** Future metrics rows after the id `after` (null: from now on); resumes after an interruption. */
  readonly watchMetrics: (
    run: string,
    after: string | null,
    watcher: Watcher<ReadonlyArray<Wire.MetricsRow>>
  ) => Unwatch
  /** The summary now and on every change. */
  readonly watchSummary: (run: string, watcher: Watcher<Wire.QueueSummary>) => Unwatch
}
