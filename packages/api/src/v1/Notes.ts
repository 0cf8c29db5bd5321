/** Handles notes on rollouts. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { TrajectoryApi, TrajectoryApiError as ApiError } from "@atropos/core"
import { NoteStore, type TooManyNotes, type UnknownGroup } from "../store/NoteStore.ts"
import * as StoreFailures from "./StoreFailures.ts"

const failures = {
  ...StoreFailures.ofReading,
  UnknownGroup: ({ group, run }: UnknownGroup) =>
    Effect.fail(new ApiError.NotFound({ message: `run ${run} has no group ${group} with this rollout` })),
  TooManyNotes: ({ max }: TooManyNotes) =>
    Effect.fail(new ApiError.Invalid({ message: `a run has at most ${max} notes: delete some`, field: "body" }))
}

export const layer = HttpApiBuilder.group(
  TrajectoryApi.TrajectoryApi,
  "notes",
  Effect.fnUntraced(function* (handlers) {
    const found = yield* Effect.serviceOption(NoteStore)
    const store = Effect.fromOption(found).pipe(
      Effect.mapError(() => new ApiError.Internal({ message: "this service does not store notes" }))
    )
    return handlers
      .handle(
        "list",
        Effect.fnUntraced(function* ({ params }) {
          const { notes } = yield* store
          return { notes: yield* Effect.catchTags(notes(params.run), StoreFailures.ofReading) }
        })
      )
      .handle(
        "write",
        Effect.fnUntraced(function* ({ params, payload }) {
          const { write } = yield* store
          yield* Effect.catchTags(write(params.run, params.id, payload), failures)
        })
      )
  })
)
