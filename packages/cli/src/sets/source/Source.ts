/** Where the groups of a data set come from: files, a service, an environment, or a service's batches. */
import type { ScoredGroup } from "@atropos/core"
import type { Effect, Option } from "effect"
import type { Failure } from "../../base/Failure.ts"

/** Takes what a source gives, in order, each with the place to go on from behind it. */
export interface Sink {
  /** Whether a group of these scores can give rows; one that cannot need not be fetched. */
  readonly wants: (scores: ReadonlyArray<number>) => boolean
  /** A group that is not wanted: it counts as read. */
  readonly pass: (scores: ReadonlyArray<number>, cursor: unknown) => Effect.Effect<boolean, Failure>
  /** Takes groups, all of which are behind the place. False: there are enough rows. */
  readonly take: (groups: ReadonlyArray<ScoredGroup.ScoredGroup>, cursor: unknown) => Effect.Effect<boolean, Failure>
  /** A line that is no group. */
  readonly fault: (fault: string) => Effect.Effect<void>
  /** Groups that were there and are no longer. */
  readonly gone: (sequences: number) => void
  /** Something to tell, once. */
  readonly note: (note: string) => Effect.Effect<void>
}

export interface Source<R = never> {
  /** For people. */
  readonly name: string
  /** What tells this source apart from others, for a run that is gone on with. */
  readonly identity: { readonly [name: string]: unknown }
  /** Milliseconds of work that may be done again after a crash; 0: none, since it cannot be had again. */
  readonly checkpointEvery: number
  /** Gives until there is no more, or enough. */
  readonly run: (sink: Sink, from: Option.Option<unknown>) => Effect.Effect<void, Failure, R>
}
