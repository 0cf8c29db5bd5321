/**
 * The versioned endpoints: routes for an `HttpRouter`, with the definition at `/v1/openapi.json` and a page to read it at `/v1/docs`
 * (which loads nothing from elsewhere).
 */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import { HttpApiBuilder, HttpApiScalar } from "effect/http-api"
import { TrajectoryApi } from "@atropos/core"
import type { Auth } from "../Auth.ts"
import type { TrajectoryStore } from "../TrajectoryStore.ts"
import * as Batches from "./Batches.ts"
import * as Environments from "./Environments.ts"
import * as Groups from "./Groups.ts"
import * as Health from "./Health.ts"
import * as Metrics from "./Metrics.ts"
import * as Middleware from "./Middleware.ts"
import * as Runs from "./Runs.ts"

const endpoints = HttpApiBuilder.layer(TrajectoryApi.TrajectoryApi, { openapiPath: "/v1/openapi.json" }).pipe(
  Layer.provide([Health.layer, Runs.layer, Environments.layer, Groups.layer, Batches.layer, Metrics.layer]),
  Layer.provide([Middleware.authorization, Middleware.requestErrors])
)

const docs = HttpApiScalar.layer(TrajectoryApi.TrajectoryApi, {
  path: "/v1/docs",
  scalar: { withDefaultFonts: false }
})

const unknownPath = HttpRouter.add("*", "/v1/*", (request) =>
  Effect.succeed(
    HttpServerResponse.jsonUnsafe(
      { error: "NotFound", message: `there is no ${request.method} ${request.url} here: see /v1/docs` },
      { status: 404 }
    )
  )
)

/** No endpoint touches files: the definition's routes get the platform services that do nothing. */
export const layer: Layer.Layer<never, never, HttpRouter.HttpRouter | Auth | TrajectoryStore> = Layer.mergeAll(
  endpoints,
  docs,
  unknownPath
).pipe(Layer.provide(HttpServer.layerServices))
