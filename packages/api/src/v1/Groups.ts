/** Handlers: scored groups in, and back out for browsing. */
import { Effect, Option } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { TrajectoryApi, TrajectoryApiError as ApiError, TrajectoryApiSchema as Wire } from "@atropos/core"
import * as Payloads from "../Payloads.ts"
import * as RequestBody from "../RequestBody.ts"
import * as ServiceMetrics from "../ServiceMetrics.ts"
import { TrajectoryStore } from "../TrajectoryStore.ts"
import * as BatchAnswer from "./BatchAnswer.ts"
import * as StoreFailures from "./StoreFailures.ts"
import * as SubmissionBody from "./SubmissionBody.ts"
import * as SubmissionForm from "./SubmissionForm.ts"

const defaultPage = 50

export const layer = HttpApiBuilder.group(
  TrajectoryApi.TrajectoryApi,
  "groups",
  Effect.fnUntraced(function* (handlers) {
    const store = yield* TrajectoryStore
    const knownRun = (name: string) => StoreFailures.mustBeKnown(store, name)

    return handlers
      .handleRaw(
        "submit",
        Effect.fnUntraced(function* ({ params, request }) {
          yield* knownRun(params.run)
          const submissions = yield* SubmissionForm.read(
            {
              contentType: request.headers["content-type"],
              idempotencyKey: request.headers["idempotency-key"],
              body: yield* SubmissionBody.bytes(request)
            },
            yield* RequestBody.Limits
          )
          const outcomes =
            submissions.length === 0
              ? []
              : yield* Effect.catchTags(store.submit(params.run, submissions), StoreFailures.ofSubmission)
          const tokens = submissions.reduce((sum, submission) => sum + submission.tokens, 0)
          yield* ServiceMetrics.submitted(params.run, outcomes, tokens)
          return { outcomes }
        })
      )
      .handleAll({
        browse: ({ params, query }) =>
          Effect.andThen(
            knownRun(params.run),
            Effect.catchTags(
              store.rollouts(params.run, { ...query, limit: query.limit ?? defaultPage }),
              StoreFailures.plain
            )
          ),
        rollout: Effect.fnUntraced(function* ({ params, request }) {
          yield* knownRun(params.run)
          const found = yield* Effect.catchTags(store.rollout(params.run, params.id), StoreFailures.plain)
          if (Option.isNone(found)) {
            return yield* new ApiError.NotFound({ message: `run ${params.run} has no rollout ${params.id}` })
          }
          const { payload, ...row } = found.value
          if (BatchAnswer.acceptsPacked(request.headers["accept"])) {
            return HttpServerResponse.uint8Array(yield* Payloads.toPacked(payload), {
              contentType: Wire.packedContentType
            })
          }
          const head = JSON.stringify({
            id: row.id,
            env_id: row.envId,
            created_at: row.createdAt,
            sequences: row.sequences,
            tokens: row.tokens,
            scores: row.scores,
            policy_step: row.policyStep
          })
          const group = yield* Payloads.toJson(payload)
          return HttpServerResponse.uint8Array(
            Buffer.concat([Buffer.from(`${head.slice(0, -1)},"group":`), ...group, Buffer.from("}")]),
            { contentType: "application/json" }
          )
        })
      })
  })
)
