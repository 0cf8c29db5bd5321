/** Types of recorded entries, sources and sinks, re-exported by `MetricsSink`. */
import { type Effect, Schema, type Scope } from "effect"

/** Numbers by name, of one step. */
export interface Figures {
  readonly _tag: "Figures"
  readonly step: number
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly values: { readonly [name: string]: number }
  /** Identifies this step's metrics in addition to the step (a batch's id, a policy version); not metrics. */
  readonly labels?: { readonly [name: string]: string | number }
}

/** Rows under column names, of one step: rollouts with their scores. */
export interface Table {
  readonly _tag: "Table"
  readonly step: number
  readonly at: number
  readonly name: string
  readonly columns: ReadonlyArray<string>
  readonly rows: ReadonlyArray<ReadonlyArray<string | number>>
}

export type Entry = Figures | Table

/** The origin of records. */
export interface Source {
  readonly kind: "environment" | "trainer"
  /** Unique within the run: the environment's registered name, or `trainer`. */
  readonly name: string
  /** Stable across processes that continue this source: the environment's own name, or `trainer`. */
  readonly key: string
  /** True if it continues an earlier process's work. */
  readonly isResumed: boolean
  /** Prefix of its names if all sources share a dashboard: the original's `<wandb_name>_`, or empty. */
  readonly prefix: string
  /** Settings, snake_case. Secrets by name are removed before a sink sees them. */
  readonly config: { readonly [name: string]: unknown }
  /** Group and project announced by the trainer, if any. */
  readonly announced: Effect.Effect<{ readonly group: string | null; readonly project: string | null }>
}

export class SinkError extends Schema.TaggedError<SinkError>()("SinkError", {
  /**
   * `passing`: retry later; `refused`: these entries are permanently rejected, others may be accepted; `final`: nothing
   * more will be accepted.
   */
  reason: Schema.Literals(["passing", "refused", "final"]),
  message: Schema.String,
  retryAfterMillis: Schema.optionalKey(Schema.Finite),
  cause: Schema.optionalKey(Schema.Defect())
}) {}

/** Writes one source to one sink. */
export interface Writer {
  /** All or nothing; called again with the same entries after a `passing` failure. */
  readonly write: (entries: ReadonlyArray<Entry>) => Effect.Effect<void, SinkError>
  /** The source has ended; completes when everything is written. */
  readonly finish: (exitCode: number) => Effect.Effect<void, SinkError>
}

export interface Sink {
  readonly name: string
  readonly takesTables: boolean
  /** Max entries of one `write`. */
  readonly batch: number
  readonly open: (source: Source) => Effect.Effect<Writer, SinkError, Scope.Scope>
}
