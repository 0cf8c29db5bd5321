/**
 * Uses the trajectory service over its versioned endpoints: packed bodies, long polling, pushed status.
 *
 * Never sends a request twice: retries are up to the caller, and safe, because submissions have keys and batches lease
 * tokens. Only `statusChanges` reconnects by itself, without limit, with a growing pause of at most five seconds; it
 * fails if the service rejects it (unknown run or environment, wrong token).
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Effect, Layer } from "effect"
import type { HttpClient } from "effect/http"
import * as EnvironmentClient from "./EnvironmentClient.ts"
import * as ServiceApi from "./ServiceApi.ts"
import * as TelemetryClient from "./TelemetryClient.ts"
import * as TrainerClient from "./TrainerClient.ts"
import * as TrajectoryClient from "./TrajectoryClient.ts"

export type Options = ServiceApi.Options

export const make = (
  options: Options
): Effect.Effect<TrajectoryClient.TrajectoryClient, never, HttpClient.HttpClient> =>
  Effect.map(ServiceApi.make(options), (service) => ({
    ...EnvironmentClient.overHttp(service),
    ...TrainerClient.overHttp(service),
    ...TelemetryClient.overHttp(service)
  }))

/** Uses the caller's client. */
export const layerNoDeps = (options: Options): Layer.Layer<TrajectoryClient.Clients, never, HttpClient.HttpClient> =>
  TrajectoryClient.layer(make(options))

/** Uses its own keep-alive connections. */
export const layer = (options: Options): Layer.Layer<TrajectoryClient.Clients> =>
  Layer.provide(layerNoDeps(options), NodeHttpClient.layerUndici)
