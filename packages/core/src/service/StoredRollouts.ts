/**
 * Reads stored rollouts of a trajectory service, queued or consumed. Reading claims and removes nothing, so trainers
 * and other readers are not affected.
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Context, Effect, Layer, Option, Result } from "effect"
import { HttpClientRequest } from "effect/http"
import * as PackedGroup from "./PackedGroup.ts"
import type { ScoredGroup } from "../trajectory/ScoredGroup.ts"
import * as ServiceApi from "./ServiceApi.ts"
import { packedContentType, type RolloutPage, type RolloutQuery } from "./TrajectoryApi.ts"
import { TrajectoryError } from "./TrajectoryError.ts"

export type Options = ServiceApi.Options

export interface StoredRolloutsShape {
  readonly page: (query: RolloutQuery) => Effect.Effect<RolloutPage, TrajectoryError>
  /** None if the service no longer has it. */
  readonly group: (id: string) => Effect.Effect<Option.Option<ScoredGroup>, TrajectoryError>
  readonly runs: Effect.Effect<ReadonlyArray<string>, TrajectoryError>
  /** Fails unless a service answers. */
  readonly live: Effect.Effect<void, TrajectoryError>
}

export class StoredRollouts extends Context.Service<StoredRollouts, StoredRolloutsShape>()(
  "@atropos/core/StoredRollouts"
) {}

const make = Effect.fnUntraced(function* (options: Options) {
  const { api, call, http, run } = yield* ServiceApi.make(options)
  const rollouts = `/v1/runs/${encodeURIComponent(run)}/rollouts`
  return {
    page: (query) => call(api.reading.rollouts({ params: { run }, query })),
    // Not through the platform's client, which decodes answers by a schema; packed groups have none.
    group: (id) =>
      http.send(HttpClientRequest.get(`${rollouts}/${id}`, { headers: { accept: packedContentType } })).pipe(
        Effect.flatMap(({ bytes }) =>
          Result.match(PackedGroup.decode(bytes), {
            onSuccess: Effect.succeedSome,
            onFailure: ({ field, message }) =>
              Effect.fail(
                new TrajectoryError({
                  reason: "unsupported",
                  message: `rollout ${id} cannot be read: ${field}: ${message}`
                })
              )
          })
        ),
        Effect.catchIf(
          ({ reason }) => reason === "notFound",
          () => Effect.succeedNone
        )
      ),
    runs: Effect.map(call(api.reading.runs()), ({ runs }) => runs.map(({ name }) => name)),
    live: Effect.asVoid(http.send(HttpClientRequest.get("/v1/health/live")))
  } satisfies StoredRolloutsShape
})

/** Uses its own keep-alive connections. */
export const layer = (options: Options): Layer.Layer<StoredRollouts> =>
  Layer.effect(StoredRollouts, make(options)).pipe(Layer.provide(NodeHttpClient.layerUndici))
