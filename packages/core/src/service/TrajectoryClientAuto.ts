/**
 * Detects the kind of trajectory service: uses the versioned endpoints if it has them, else the original's.
 *
 * The first call that reaches the service decides, permanently. While it is unavailable every call fails as
 * `unreachable`, so a program may start before its service.
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Effect, Layer, Option, Ref, Semaphore, Stream } from "effect"
import { type HttpClient, HttpClientRequest } from "effect/http"
import * as ServiceHttp from "./ServiceHttp.ts"
import * as TrajectoryClient from "./TrajectoryClient.ts"
import * as TrajectoryClientHttp from "./TrajectoryClientHttp.ts"
import * as TrajectoryClientV0 from "./TrajectoryClientV0.ts"
import type { TrajectoryError } from "./TrajectoryError.ts"

export type Options = TrajectoryClientHttp.Options

/** True if the service at this address has the versioned endpoints. */
export const hasVersioned = (options: Options): Effect.Effect<boolean, TrajectoryError, HttpClient.HttpClient> =>
  Effect.flatMap(ServiceHttp.make(options), (http) =>
    http.send(HttpClientRequest.get("/v1/health/live")).pipe(
      Effect.as(true),
      Effect.catchIf(
        ({ reason }) => reason === "notFound",
        () => Effect.succeed(false)
      )
    )
  )

const make = Effect.fnUntraced(function* (options: Options) {
  const services = yield* Effect.context<HttpClient.HttpClient>()
  const chosen = yield* Ref.make(Option.none<TrajectoryClient.TrajectoryClient>())
  const lock = yield* Semaphore.make(1)

  const choose = Effect.gen(function* () {
    const before = yield* Ref.get(chosen)
    if (Option.isSome(before)) return before.value
    const isVersioned = yield* hasVersioned(options)
    yield* Effect.logInfo("trajectory service found", {
      url: options.url,
      endpoints: isVersioned ? "versioned (v1)" : "the original's (v0)"
    })
    const client = yield* isVersioned ? TrajectoryClientHttp.make(options) : TrajectoryClientV0.make(options)
    yield* Ref.set(chosen, Option.some(client))
    return client
  }).pipe(Effect.provideContext(services))

  const client: Effect.Effect<TrajectoryClient.TrajectoryClient, TrajectoryError> = Effect.flatMap(
    Ref.get(chosen),
    Option.match({ onNone: () => lock.withPermits(1)(choose), onSome: Effect.succeed })
  )
  const use = <A>(call: (service: TrajectoryClient.TrajectoryClient) => Effect.Effect<A, TrajectoryError>) =>
    Effect.flatMap(client, call)

  return {
    runInfo: use((service) => service.runInfo),
    wandbInfo: use((service) => service.wandbInfo),
    registerEnvironment: (spec) => use((service) => service.registerEnvironment(spec)),
    disconnectEnvironment: (envId) => use((service) => service.disconnectEnvironment(envId)),
    submit: (envId, groups) => use((service) => service.submit(envId, groups)),
    status: (envId) => use((service) => service.status(envId)),
    statusChanges: (envId) => Stream.unwrap(Effect.map(client, (service) => service.statusChanges(envId))),
    begin: (envId, request) => use((service) => service.begin(envId, request)),
    savedStates: use((service) => service.savedStates),
    registerRun: (spec) => use((service) => service.registerRun(spec)),
    claim: (claim) => use((service) => service.claim(claim)),
    ack: (batch) => use((service) => service.ack(batch)),
    nack: (batch) => use((service) => service.nack(batch)),
    extend: (batch, lease) => use((service) => service.extend(batch, lease)),
    trained: (batch) => use((service) => service.trained(batch)),
    telemetry: use((service) => service.telemetry)
  } satisfies TrajectoryClient.TrajectoryClient
})

/** Uses the caller's client, which must send bodies with GET (`NodeHttpClient`, not fetch). */
export const layerNoDeps = (options: Options): Layer.Layer<TrajectoryClient.Clients, never, HttpClient.HttpClient> =>
  TrajectoryClient.layer(make(options))

/** Uses its own keep-alive connections. */
export const layer = (options: Options): Layer.Layer<TrajectoryClient.Clients> =>
  Layer.provide(layerNoDeps(options), NodeHttpClient.layerUndici)
