/**
 * Provides the routes of the versioned endpoints, with their definition at `/v1/openapi.json` and its documentation at
 * `/v1/docs` (without external resources).
 */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServer, type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder, HttpApiScalar } from "effect/http-api"
import { TrajectoryApi } from "@atropos/core"
import type { Auth } from "../http/Auth.ts"
import type { RolloutReader } from "../store/RolloutReader.ts"
import type { TrajectoryStore } from "../store/TrajectoryStore.ts"
import * as Batches from "./Batches.ts"
import * as Caller from "./Caller.ts"
import * as Console from "./Console.ts"
import * as Environments from "./Environments.ts"
import * as Evaluations from "./Evaluations.ts"
import * as Groups from "./Groups.ts"
import * as Health from "./Health.ts"
import * as Metrics from "./Metrics.ts"
import * as Middleware from "./Middleware.ts"
import * as Notes from "./Notes.ts"
import * as Reading from "./Reading.ts"
import * as Runs from "./Runs.ts"

const openapiPath = "/v1/openapi.json"

const checks = Layer.merge(Middleware.authorization, Middleware.requestErrors)

const endpoints = HttpApiBuilder.layer(TrajectoryApi.TrajectoryApi, { openapiPath }).pipe(
  Layer.provide([
    Health.layer,
    Caller.layer,
    Console.layer,
    Reading.layer,
    Runs.layer,
    Environments.layer,
    Groups.layer,
    Batches.layer,
    Metrics.layer,
    Notes.layer,
    Evaluations.layer,
    Evaluations.layerReading
  ]),
  Layer.provide(checks)
)

const readingEndpoints = HttpApiBuilder.layer(TrajectoryApi.ReadingApi, { openapiPath }).pipe(
  Layer.provide([Reading.layer, Evaluations.layerReading]),
  Layer.provide(checks)
)

const docs = HttpApiScalar.layer(TrajectoryApi.TrajectoryApi, {
  path: "/v1/docs",
  scalar: { withDefaultFonts: false }
})

const notThere = (request: HttpServerRequest.HttpServerRequest) =>
  Effect.succeed(
    HttpServerResponse.jsonUnsafe(
      { error: "NotFound", message: `no endpoint ${request.method} ${request.url}: see /v1/docs` },
      { status: 404 }
    )
  )

/** Not for "*", which would handle HEAD instead of the GET of a known path. */
const unknownPaths = HttpRouter.addAll(
  (["GET", "POST", "PUT", "PATCH", "DELETE"] as const).map((method) => HttpRouter.route(method, "/v1/*", notThere))
)

/** No endpoint uses files: the definition's routes get no-op platform services. */
export const layer: Layer.Layer<never, never, HttpRouter.HttpRouter | Auth | TrajectoryStore | RolloutReader> =
  Layer.mergeAll(endpoints, docs, unknownPaths).pipe(
    Layer.provide(Middleware.bodies.layer),
    Layer.provide(HttpServer.layerServices)
  )

/** Only the endpoints that read through `RolloutReader`. */
export const layerReading: Layer.Layer<never, never, HttpRouter.HttpRouter | Auth | RolloutReader> = Layer.mergeAll(
  readingEndpoints,
  unknownPaths
).pipe(Layer.provide(Middleware.bodies.layer), Layer.provide(HttpServer.layerServices))
