/**
 * Tracks the health of a pool's servers from the requests themselves: a failed connection takes a server out
 * immediately, other failures after three in a row. A server that is out is probed ever less often, and only while
 * requests keep arriving; it returns with one more failure on record. 429 and 503 do not affect health; with a
 * Retry-After, nothing is sent to that server before then.
 */
import { Clock, Duration, Effect, Latch, Option, Random } from "effect"
import * as Waiting from "../base/Waiting.ts"
import * as ServerSettings from "./backend/ServerSettings.ts"
import type { InferenceError } from "./wire/Inference.ts"
import type { InferenceServer } from "./InferenceServer.ts"
import type { ConcurrencyLimiter } from "./ConcurrencyLimiter.ts"

export interface Health {
  /** A request is about to be sent: resumes probing servers that are out. */
  readonly wanted: Effect.Effect<void>
  readonly succeeded: (server: InferenceServer) => Effect.Effect<void>
  readonly failed: (server: InferenceServer, error: InferenceError) => Effect.Effect<void>
}

const strikesAllowed = 3
const firstProbeMillis = 200
const lastProbeMillis = 15_000
const healthTimeout = Duration.seconds(5)
/** Probing stops if there was no request for this long. */
const probeWhileWantedMillis = 60_000

/**
 * Servers are probed in fibers of the scope; requests that wait for a slot are served whenever a server goes or
 * returns.
 */
export const make = Effect.fnUntraced(function* (
  servers: ReadonlyArray<InferenceServer>,
  slots: Pick<ConcurrencyLimiter, "serve" | "waiting">
) {
  const scope = yield* Effect.scope
  let lastWanted = -Infinity
  /** Opened whenever a server returns. */
  const isBack = Latch.makeUnsafe(true)
  let isOutageLogged = false

  const markUp = Effect.fnUntraced(function* (server: InferenceServer) {
    server.isUp = true
    server.isProbed = false
    isBack.openUnsafe()
    yield* Effect.logInfo("inference server is back", { server: server.backend.server })
    yield* slots.serve
  })

  const isHealthy = (server: InferenceServer): Effect.Effect<boolean> =>
    server.healthCheck
      ? Effect.timeoutOption(server.backend.health, healthTimeout).pipe(
          Effect.map(Option.isSome),
          Effect.catch((error) =>
            Effect.sync(() => {
              server.lastError = error
              return false
            })
          )
        )
      : Effect.succeed(true)

  /** Probes a server that is out until it is back or no longer needed. */
  let lastReason = ""
  const probe = (server: InferenceServer): Effect.Effect<void> =>
    Effect.suspend(() => {
      server.isProbed = true
      return Effect.gen(function* () {
        while (true) {
          const delay = Math.min(lastProbeMillis, firstProbeMillis * 2 ** Math.min(server.setbacks, 10))
          yield* Effect.sleep(Duration.millis(delay * (yield* Random.nextBetween(0.8, 1.2))))
          if (yield* isHealthy(server)) return yield* markUp(server)
          server.setbacks++
          if (slots.waiting() === 0 && (yield* Clock.currentTimeMillis) - lastWanted > probeWhileWantedMillis) {
            server.isProbed = false
            return undefined
          }
        }
      }).pipe(Effect.forkIn(scope), Effect.asVoid)
    })

  /** Logs an outage while no server is up and requests wait for one. */
  const logOutage = Effect.suspend(() => {
    isOutageLogged = true
    const remind = (seconds: number) =>
      slots.waiting() === 0
        ? Effect.void
        : Effect.logWarning(ServerSettings.waiting, {
            seconds,
            tried: servers.map(({ backend }) => backend.server).join(", "),
            reason: lastReason,
            requests: slots.waiting()
          })
    return Effect.raceFirst(Waiting.reminders(remind), isBack.await).pipe(
      Effect.ensuring(Effect.sync(() => void (isOutageLogged = false))),
      Effect.forkIn(scope),
      Effect.asVoid
    )
  })

  const markDown = Effect.fnUntraced(function* (server: InferenceServer, error: InferenceError) {
    lastReason = error.message
    server.isUp = false
    server.downSince = yield* Clock.currentTimeMillis
    server.setbacks++
    yield* Effect.logWarning("inference server is down", { server: server.backend.server, reason: error.message })
    isBack.closeUnsafe()
    if (!isOutageLogged && servers.every(({ isUp }) => !isUp)) yield* logOutage
    if (!server.isProbed) yield* probe(server)
    // Requests waiting for this server go elsewhere.
    yield* slots.serve
  })

  const coolDown = Effect.fnUntraced(function* (server: InferenceServer, millis: number) {
    const until = (yield* Clock.currentTimeMillis) + millis
    if (until <= server.coolingUntil) return
    server.coolingUntil = until
    server.isCooling = true
    yield* Effect.gen(function* () {
      yield* Effect.sleep(Duration.millis(millis))
      if (server.coolingUntil > until) return
      server.isCooling = false
      yield* slots.serve
    }).pipe(Effect.forkIn(scope))
  })

  const health: Health = {
    wanted: Effect.gen(function* () {
      lastWanted = yield* Clock.currentTimeMillis
      for (const server of servers) if (!server.isUp && !server.isProbed) yield* probe(server)
    }),
    succeeded: (server) =>
      Effect.sync(() => {
        server.strikes = 0
        server.setbacks = 0
      }),
    failed: Effect.fnUntraced(function* (server, error) {
      server.lastError = error
      if (error.retryAfterMillis !== undefined) yield* coolDown(server, error.retryAfterMillis)
      if (error.reason === "rejected" || error.reason === "unsupported" || error.reason === "overloaded") return
      server.strikes++
      if (server.isUp && (error.reason === "unreachable" || server.strikes >= strikesAllowed))
        yield* markDown(server, error)
    })
  }
  return health
})
