/**
 * Notes, labels and bookmarks on rollouts. `PgTrajectoryStore.layer` provides it over the service's database; where
 * there is none in the context, nothing is noted.
 *
 * A rollout, and a group as a whole, has one note: the last one that was written. It goes with its group.
 */
import { Context, type Effect, Schema } from "effect"
import type { TrajectoryApi } from "@atropos/core"
import type { StoreError, UnknownRun } from "./TrajectoryStore.ts"

export class UnknownGroup extends Schema.TaggedError<UnknownGroup>()("UnknownGroup", {
  run: Schema.String,
  group: Schema.String
}) {}

/** A run has as many notes as it may have. */
export class TooManyNotes extends Schema.TaggedError<TooManyNotes>()("TooManyNotes", { most: Schema.Int }) {}

export interface NoteStoreShape {
  /** The one that was changed last first. */
  readonly notes: (run: string) => Effect.Effect<ReadonlyArray<TrajectoryApi.Note>, StoreError | UnknownRun>
  /** One that says nothing takes back what was said. */
  readonly write: (
    run: string,
    group: string,
    note: TrajectoryApi.NoteChange
  ) => Effect.Effect<void, StoreError | UnknownRun | UnknownGroup | TooManyNotes>
}

export class NoteStore extends Context.Service<NoteStore, NoteStoreShape>()("@atropos/api/NoteStore") {}
