/** Handles leased batches: claim, ack and related requests. */
import { Duration, Effect, Option, Result } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { PackedLogprobs, TrajectoryApi, TrajectoryApiError as ApiError } from "@atropos/core"
import * as LongPoll from "../claim/LongPoll.ts"
import * as ServiceMetrics from "../metrics/ServiceMetrics.ts"
import { TrajectoryStore } from "../store/TrajectoryStore.ts"
import * as Delivery from "../claim/Delivery.ts"
import * as BatchAnswer from "./BatchAnswer.ts"
import * as StoreFailures from "./StoreFailures.ts"
import * as SubmissionBody from "../submission/SubmissionBody.ts"

/** Max bytes of a trainer's logprobs of a step: two million tokens. */
const maxLogprobBytes = 8 * 1024 * 1024

export const layer = HttpApiBuilder.group(
  TrajectoryApi.TrajectoryApi,
  "batches",
  Effect.fnUntraced(function* (handlers) {
    const store = yield* TrajectoryStore
    const scope = yield* Effect.scope
    const leases = handlers.handleRaw(
      "recordLogprobs",
      Effect.fnUntraced(function* ({ params, request }) {
        const read = PackedLogprobs.decode(yield* SubmissionBody.bytes(request, maxLogprobBytes))
        if (Result.isFailure(read)) {
          const { field, message } = read.failure
          return yield* new ApiError.Invalid({ message: `${field}: ${message}`, field })
        }
        yield* Effect.catchTags(store.recordLogprobs(params.run, params.id, read.success), StoreFailures.plain)
        return HttpServerResponse.empty({ status: 204 })
      })
    )
    return leases.handleAll({
      claim: Effect.fnUntraced(function* ({ params, payload, request }) {
        const found = yield* store.start(params.run).pipe(
          Effect.andThen(
            LongPoll.claim(store, params.run, {
              owner: payload.owner,
              wait: Duration.seconds(payload.waitSeconds),
              lease: Duration.seconds(payload.leaseSeconds)
            })
          ),
          Effect.catchTags(StoreFailures.ofRun)
        )
        if (Option.isNone(found)) return HttpServerResponse.empty({ status: 204 })
        yield* ServiceMetrics.batch(params.run, found.value.deliveries > 1 ? "redelivered" : "claimed")
        // A trainer that disconnects before the whole response would otherwise keep the batch until its lease expires.
        yield* Effect.forkIn(Delivery.giveBackUnlessWritten(store, request, found.value), scope)
        return yield* BatchAnswer.make(found.value, request.headers["accept"])
      }),
      ack: ({ params, payload }) =>
        store
          .ack({ id: params.id, leaseToken: payload.leaseToken })
          .pipe(Effect.catchTags(StoreFailures.plain), Effect.andThen(ServiceMetrics.batch(params.run, "acked"))),
      nack: ({ params, payload }) =>
        store
          .nack({ id: params.id, leaseToken: payload.leaseToken })
          .pipe(Effect.catchTags(StoreFailures.plain), Effect.andThen(ServiceMetrics.batch(params.run, "nacked"))),
      trained: ({ params, payload }) =>
        store.trained({ id: params.id, ...payload }).pipe(Effect.catchTags(StoreFailures.plain)),
      extend: ({ params, payload }) =>
        store
          .extendLease({ id: params.id, leaseToken: payload.leaseToken }, Duration.seconds(payload.leaseSeconds))
          .pipe(Effect.catchTags(StoreFailures.plain))
    })
  })
)
