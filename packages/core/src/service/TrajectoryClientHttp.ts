/**
 * The trajectory service over its versioned endpoints: packed bodies, long poll, pushed status.
 *
 * It never sends a request twice: trying again is the caller's (the rollout runner's, the trainer's), and safe, because
 * submissions carry their keys and batches their lease tokens. Only `statusChanges` reconnects by itself, for ever,
 * with a growing pause of at most five seconds; it ends with an error where the service refuses (unknown run or
 * environment, wrong token).
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

/** Over a client of the caller's. */
export const layerNoDeps = (options: Options): Layer.Layer<TrajectoryClient.Clients, never, HttpClient.HttpClient> =>
  TrajectoryClient.layer(make(options))

/** Over connections of its own, kept open between requests. */
export const layer = (options: Options): Layer.Layer<TrajectoryClient.Clients> =>
  Layer.provide(layerNoDeps(options), NodeHttpClient.layerUndici)
