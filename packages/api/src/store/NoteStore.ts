/**
 * Defines the store of notes, labels and bookmarks on rollouts. `PgTrajectoryStore.layer` provides it over the
 * service's database; without it in the context, notes are not supported.
 *
 * A rollout, and a group as a whole, has one note: the last one written. It is deleted with its group.
 */
import { Context, type Effect, Schema } from "effect"
import type { TrajectoryApi } from "@atropos/core"
import type { StoreError, UnknownRun } from "./TrajectoryStore.ts"

export class UnknownGroup extends Schema.TaggedError<UnknownGroup>()("UnknownGroup", {
  run: Schema.String,
  group: Schema.String
}) {}

export class TooManyNotes extends Schema.TaggedError<TooManyNotes>()("TooManyNotes", { max: Schema.Int }) {}

export interface NoteStoreShape {
  /** Most recently changed first. */
  readonly notes: (run: string) => Effect.Effect<ReadonlyArray<TrajectoryApi.Note>, StoreError | UnknownRun>
  /** An empty note deletes the existing one. */
  readonly write: (
    run: string,
    group: string,
    note: TrajectoryApi.NoteChange
  ) => Effect.Effect<void, StoreError | UnknownRun | UnknownGroup | TooManyNotes>
}

export class NoteStore extends Context.Service<NoteStore, NoteStoreShape>()("@atropos/api/NoteStore") {}
