/** Handles submitted groups and the text of their tokens. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { TrajectoryApi } from "@atropos/core"
import * as GroupReader from "../submission/GroupReader.ts"
import * as ServiceMetrics from "../metrics/ServiceMetrics.ts"
import { TrajectoryStore } from "../store/TrajectoryStore.ts"
import * as StoreFailures from "./StoreFailures.ts"
import * as SubmissionBody from "../submission/SubmissionBody.ts"

export const layer = HttpApiBuilder.group(
  TrajectoryApi.TrajectoryApi,
  "groups",
  Effect.fnUntraced(function* (handlers) {
    const store = yield* TrajectoryStore
    const reader = yield* GroupReader.make
    const knownRun = (name: string) => StoreFailures.mustBeKnown(store, name)

    return handlers
      .handleRaw(
        "submit",
        Effect.fnUntraced(function* ({ params, request }) {
          yield* knownRun(params.run)
          const submissions = yield* reader.readVersioned({
            contentType: request.headers["content-type"],
            idempotencyKey: request.headers["idempotency-key"],
            body: yield* SubmissionBody.bytes(request)
          })
          const outcomes =
            submissions.length === 0
              ? []
              : yield* Effect.catchTags(store.submit(params.run, submissions), StoreFailures.plain)
          const tokens = submissions.reduce((sum, submission) => sum + submission.tokens, 0)
          yield* ServiceMetrics.submitted(params.run, outcomes, tokens)
          return { outcomes }
        })
      )
      .handleAll({
        recordPieces: ({ params, payload }) =>
          Effect.andThen(
            knownRun(params.run),
            Effect.catchTags(
              store.recordPieces(
                params.run,
                new Map(Object.entries(payload.pieces).map(([id, text]) => [Number(id), text]))
              ),
              StoreFailures.plain
            )
          )
      })
  })
)
