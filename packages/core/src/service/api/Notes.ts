/** Notes, labels and bookmarks of users on rollouts. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { Authorization, describe, RequestErrors } from "./Access.ts"
import { rowParams, runParams, text, wire } from "./Fields.ts"
import { common } from "./TrajectoryApiError.ts"

const label = Schema.NonEmptyString.check(Schema.isMaxLength(64))

const note = {
  /** Index in the group, from 0; null: the group as a whole. */
  rollout: Schema.NullOr(Schema.Natural),
  bookmarked: Schema.Boolean,
  labels: Schema.Array(label).check(Schema.isMaxLength(20)),
  text
}

/** A user's note on a rollout. An empty one deletes it. */
export const NoteChange = wire(note)
export type NoteChange = typeof NoteChange.Type

/** A stored note; `group` is the id of the group, `at` milliseconds since the epoch. */
export const Note = wire({ group: Schema.String, at: Schema.Finite, ...note })
export type Note = typeof Note.Type

export class NotesGroup extends HttpApiGroup.make("notes")
  .add(
    HttpApiEndpoint.get("list", "/runs/:run/notes", {
      params: runParams,
      success: Schema.Struct({ notes: Schema.Array(Note) }),
      error: common
    }).annotateMerge(describe("All notes of a run, most recently changed first.")),
    HttpApiEndpoint.put("write", "/runs/:run/rollouts/:id/note", {
      params: rowParams,
      payload: NoteChange,
      success: HttpApiSchema.NoContent,
      error: common
    }).annotateMerge(
      describe(
        "Stores a note on a rollout of a group, or on the group, replacing the previous one. It is deleted with its group."
      )
    )
  )
  .middleware(RequestErrors)
  .middleware(Authorization)
  .prefix("/v1") {}
