/** What is recorded, who records it, and what a sink is: the vocabulary of `MetricsSink`, which re-exports it. */
import { type Effect, Schema, type Scope } from "effect"

/** Numbers by name, of one step. */
export interface Figures {
  readonly _tag: "Figures"
  /** Trainer's step. */
  readonly step: number
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly values: { readonly [name: string]: number }
  /** What tells this step's figures apart beside the step (a batch's id, a policy version); not a figure. */
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

/** Who records. */
export interface Source {
  readonly kind: "environment" | "trainer"
  /** Unique within the run: the environment's registered name, or `trainer`. */
  readonly name: string
  /** The same for every process that goes on with this source: the environment's own name, or `trainer`. */
  readonly key: string
  /** It goes on with what an earlier process began. */
  readonly isResumed: boolean
  /** Put before its names where all sources share a dashboard: the original's `<wandb_name>_`, or nothing. */
  readonly prefix: string
  /** Settings, snake_case. Whatever is named like a secret is taken out before a sink sees it. */
  readonly config: { readonly [name: string]: unknown }
  /** Group and project that the trainer announced, where it did. */
  readonly announced: Effect.Effect<{ readonly group: string | null; readonly project: string | null }>
}

/** What a sink cannot do. */
export class SinkError extends Schema.TaggedError<SinkError>()("SinkError", {
  /**
   * `passing`: try again later; `refused`: these entries never will be taken, others may; `final`: nothing more will
   * be.
   */
  reason: Schema.Literals(["passing", "refused", "final"]),
  message: Schema.String,
  retryAfterMillis: Schema.optionalKey(Schema.Finite),
  cause: Schema.optionalKey(Schema.Defect())
}) {}

/** What one source writes to one sink. */
export interface Writer {
  /** All of them or none; asked again with the same entries after a failure that is `passing`. */
  readonly write: (entries: ReadonlyArray<Entry>) => Effect.Effect<void, SinkError>
  /** The source is through; done when everything is where it should be. */
  readonly finish: (exitCode: number) => Effect.Effect<void, SinkError>
}

export interface Sink {
  /** In logs and counters. */
  readonly name: string
  readonly takesTables: boolean
  /** Most entries of one `write`. */
  readonly batch: number
  readonly open: (source: Source) => Effect.Effect<Writer, SinkError, Scope.Scope>
}
