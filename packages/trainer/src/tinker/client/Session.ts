/**
 * Opens a session with a Tinker server, reads its capabilities, and keeps it alive. The server ends a session's
 * resources a few minutes after the last heartbeat.
 */
import { Effect, Schedule, Schema, Semaphore } from "effect"
import * as Paths from "../protocol/Paths.ts"
import * as Wire from "../protocol/Session.ts"
import type { Address } from "./Address.ts"
import * as Futures from "./Futures.ts"
import * as Patience from "./Patience.ts"
import { TinkerError } from "./TinkerError.ts"
import * as Transport from "./Transport.ts"

export interface SupportedModel {
  readonly name: string
  readonly maxContextLength: number | undefined
  readonly isTrainable: boolean
}

export interface Config {
  readonly maxData: number
  /** Max bytes of their numbers. */
  readonly maxBytes: number
  readonly isCompressed: boolean
  readonly isParallel: boolean
  /** Max concurrent samples. */
  readonly maxSamples: number
}

export interface Session {
  readonly server: string
  /** The current session; a server that restarted may have lost earlier ones. */
  readonly id: () => string
  /** Starts another session if `lost` is still the current one. */
  readonly renew: (lost: string) => Effect.Effect<void, TinkerError>
  readonly config: Config
  readonly models: ReadonlyArray<SupportedModel>
  readonly transport: Transport.Transport
  readonly futures: Futures.Futures
  /** Sequence numbers of the session's models, and of its sampling sessions. */
  readonly nextModel: () => number
  readonly nextSampler: () => number
}

const configOf = (config: Wire.ClientConfig): Config => ({
  maxData: Math.max(1, config.fwdbwdMaxChunkLen ?? Wire.configDefaults.fwdbwdMaxChunkLen),
  maxBytes: config.fwdbwdMaxChunkBytesCount ?? Wire.configDefaults.fwdbwdMaxChunkBytesCount,
  isCompressed: config.protoCompressFwdbwd ?? Wire.configDefaults.protoCompressFwdbwd,
  isParallel: config.parallelFwdbwdChunks ?? Wire.configDefaults.parallelFwdbwdChunks,
  maxSamples: Math.max(1, config.sampleMaxConcurrentRequests ?? Wire.configDefaults.sampleMaxConcurrentRequests)
})

const modelsOf = ({ supportedModels }: Wire.Capabilities): ReadonlyArray<SupportedModel> =>
  supportedModels.flatMap(({ maxContextLength, modelName, trainable }) =>
    modelName
      ? [{ name: modelName, maxContextLength: maxContextLength ?? undefined, isTrainable: trainable ?? true }]
      : []
  )

export const post = <A, I>(path: string, codec: Schema.Codec<A, I>, value: A): Transport.Ask => ({
  method: "POST",
  path,
  body: { json: Schema.encodeSync(codec)(value) }
})

/** Translates errors of the first request: other servers respond with a page, or not at all. */
const toStartError = (error: TinkerError): TinkerError => {
  const { message, reason, server, status } = error
  if (reason === "gone" || reason === "malformed" || (reason === "refused" && status === 405)) {
    return new TinkerError({ reason: "stranger", server, message: `${server} is not a Tinker server: ${message}` })
  }
  return reason === "unavailable" && status === undefined
    ? new TinkerError({ reason, server, message: `${message}: is the server running, and is this its address?` })
    : error
}

const heartbeatEvery = "10 seconds"

/** Shorter limit at the start: an unreachable server most likely means a wrong address. */
const withStartLimit = (patience: Patience.Patience): Patience.Patience => ({
  ...patience,
  unavailableMillis: Math.min(patience.unavailableMillis, 5000)
})

const begin = Effect.fnUntraced(function* ({ call }: Futures.Futures, server: string) {
  const created = yield* call(
    post(Paths.post.createSession, Wire.CreateSession, {
      tags: ["atropos"],
      userMetadata: {},
      sdkVersion: Transport.sdkVersion,
      type: "create_session"
    }),
    Wire.SessionCreated
  )
  for (const message of [created.infoMessage, created.warningMessage, created.errorMessage]) {
    if (message) yield* Effect.logWarning("message of the server", { server, message })
  }
  return created.sessionId
})

/** Runs `use` in the session, or in a new one if the server lost it. */
export const inSession = Effect.fnUntraced(function* <A>(
  session: Session,
  use: (sessionId: string) => Effect.Effect<A, TinkerError>
) {
  const id = session.id()
  return yield* Effect.catchIf(
    use(id),
    ({ reason }) => reason === "gone" || reason === "expired",
    () =>
      Effect.andThen(
        session.renew(id),
        Effect.suspend(() => use(session.id()))
      )
  )
})

/** Starts a session; its heartbeats end with the scope. */
export const make = Effect.fn("Session.make")(function* (
  address: Address,
  patience: Patience.Patience = Patience.defaults
) {
  const transport = yield* Transport.make(address)
  const startFutures = Futures.make(transport, withStartLimit(patience))
  const config = yield* Effect.mapError(
    startFutures.call(
      post(Paths.post.clientConfig, Wire.ClientConfigRequest, { sdkVersion: Transport.sdkVersion }),
      Wire.ClientConfig
    ),
    toStartError
  )
  const capabilities = yield* Effect.mapError(
    startFutures.call({ method: "GET", path: Paths.get.capabilities }, Wire.Capabilities),
    toStartError
  )
  const futures = Futures.make(transport, patience)
  const lock = yield* Semaphore.make(1)
  let id = yield* begin(startFutures, address.url)
  const beat = Effect.suspend(() =>
    startFutures.call(
      post(Paths.post.heartbeat, Wire.Heartbeat, { sessionId: id, type: "session_heartbeat" }),
      Wire.HeartbeatSeen
    )
  )
  yield* beat.pipe(
    // An unreachable server will return, and one that lost the session reports that to the next operation.
    Effect.ignore,
    Effect.repeat(Schedule.spaced(heartbeatEvery)),
    Effect.delay(heartbeatEvery),
    Effect.forkScoped
  )
  let models = 0
  let samplers = 0
  return {
    server: address.url,
    id: () => id,
    renew: (lost) =>
      Effect.gen(function* () {
        if (id === lost) id = yield* begin(futures, address.url)
      }).pipe(lock.withPermits(1)),
    config: configOf(config),
    models: modelsOf(capabilities),
    transport,
    futures,
    nextModel: () => models++,
    nextSampler: () => samplers++
  } satisfies Session
})
