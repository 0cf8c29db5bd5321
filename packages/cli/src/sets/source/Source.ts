/** Defines the source of a data set's groups: files, a service or an environment. */
import type { ScoredGroup } from "@atropos/core"
import type { Effect, Option } from "effect"
import type { Failure } from "../../base/Failure.ts"

/** Receives the groups of a source in order, each with the cursor after it. */
export interface Sink {
  /** Returns true if a group with these scores can give rows; others need not be fetched. */
  readonly wants: (scores: ReadonlyArray<number>) => boolean
  /** Counts an unwanted group as read. */
  readonly pass: (scores: ReadonlyArray<number>, cursor: unknown) => Effect.Effect<boolean, Failure>
  /** Receives groups before the cursor. Returns false once there are enough rows. */
  readonly take: (groups: ReadonlyArray<ScoredGroup.ScoredGroup>, cursor: unknown) => Effect.Effect<boolean, Failure>
  readonly fault: (fault: string) => Effect.Effect<void>
  /** Counts groups that were removed before they were read. */
  readonly gone: (sequences: number) => void
  /** Reports a note once. */
  readonly note: (note: string) => Effect.Effect<void>
}

export interface Source<R = never> {
  readonly name: string
  /** Identifies this source when a run is resumed. */
  readonly identity: { readonly [name: string]: unknown }
  /** Max milliseconds of work repeated after a crash; 0: none, because it cannot be repeated. */
  readonly checkpointEvery: number
  /** Emits groups until they end or suffice. */
  readonly run: (sink: Sink, from: Option.Option<unknown>) => Effect.Effect<void, Failure, R>
}
