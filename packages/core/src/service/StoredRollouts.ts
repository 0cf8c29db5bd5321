/**
 * Rollouts that a trajectory service has stored, queued or consumed, read over its versioned endpoints. Reading claims
 * and removes nothing: neither a trainer nor another reader notices. A service of the original has no such endpoints
 * (`isThere`).
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Context, Effect, Layer, Option, Result, Schema } from "effect"
import { type HttpClient, HttpClientRequest } from "effect/http"
import * as ServiceHttp from "./ServiceHttp.ts"
import * as PackedGroup from "./PackedGroup.ts"
import type { ScoredGroup } from "../ScoredGroup.ts"
import { packedContentType } from "./TrajectoryApi.ts"
import { TrajectoryError } from "./TrajectoryError.ts"
import * as TrajectoryClientAuto from "./TrajectoryClientAuto.ts"

export type Options = TrajectoryClientAuto.Options

/** What is used of a row; the service tells more. */
const Row = Schema.Struct({ id: Schema.String, scores: Schema.Array(Schema.Finite) })
export type Row = typeof Row.Type

const Page = Schema.Struct({ rows: Schema.Array(Row), next: Schema.NullOr(Schema.String) })
export type Page = typeof Page.Type

const Runs = Schema.Struct({ runs: Schema.Array(Schema.Struct({ name: Schema.String })) })

/** Which rollouts, newest first. */
export interface Query {
  readonly environment?: string
  readonly stepFrom?: number
  readonly stepTo?: number
  /** Those older than this one; from the previous page's `next`. */
  readonly before?: string
  /** 1 to 1000. */
  readonly limit: number
}

export interface StoredRolloutsShape {
  readonly page: (query: Query) => Effect.Effect<Page, TrajectoryError>
  /** None where the service has it no longer. */
  readonly group: (id: string) => Effect.Effect<Option.Option<ScoredGroup>, TrajectoryError>
  /** Names of the service's runs. */
  readonly runs: Effect.Effect<ReadonlyArray<string>, TrajectoryError>
  /** Whether the service can be read; one of the original cannot. */
  readonly isThere: Effect.Effect<boolean, TrajectoryError>
}

export class StoredRollouts extends Context.Service<StoredRollouts, StoredRolloutsShape>()(
  "@atropos/core/StoredRollouts"
) {}

const make = Effect.fnUntraced(function* (options: Options) {
  const http = yield* ServiceHttp.make(options)
  const context = yield* Effect.context<HttpClient.HttpClient>()
  const path = `/v1/runs/${encodeURIComponent(options.run ?? "default")}/rollouts`
  const sendPage = http.sendFor(Page)
  return {
    page: ({ before, environment, limit, stepFrom, stepTo }) =>
      sendPage(
        HttpClientRequest.get(path, {
          urlParams: {
            limit,
            ...(before !== undefined && { before }),
            ...(environment !== undefined && { environment }),
            ...(stepFrom !== undefined && { step_from: stepFrom }),
            ...(stepTo !== undefined && { step_to: stepTo })
          }
        })
      ),
    group: (id) =>
      http.send(HttpClientRequest.get(`${path}/${id}`, { headers: { accept: packedContentType } })).pipe(
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
    runs: Effect.map(http.sendFor(Runs)(HttpClientRequest.get("/v1/runs")), ({ runs }) => runs.map(({ name }) => name)),
    isThere: Effect.provideContext(TrajectoryClientAuto.hasVersioned(options), context)
  } satisfies StoredRolloutsShape
})

/** Over connections of its own, kept open between requests. */
export const layer = (options: Options): Layer.Layer<StoredRollouts> =>
  Layer.effect(StoredRollouts, make(options)).pipe(Layer.provide(NodeHttpClient.layerUndici))
