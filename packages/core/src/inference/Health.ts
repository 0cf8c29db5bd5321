/**
 * Tracks the health of a fleet's servers from the requests themselves: a failed connection takes a server out
 * immediately, other failures after three in a row. A server that is out is probed ever less often, and only while
 * requests keep arriving; it returns with one more failure on record. 429 and 503 do not affect health; with a
 * Retry-After, nothing is sent to that server before then.
 */
import { Clock, Duration, Effect, Latch, Option, Random } from "effect"
import * as Waiting from "../base/Waiting.ts"
import type { InferenceError } from "./backend/Inference.ts"
import type { Member } from "./Member.ts"
import type { Slots } from "./Slots.ts"

export interface Health {
  /** A request is about to be sent: resumes probing servers that are out. */
  readonly wanted: Effect.Effect<void>
  readonly succeeded: (member: Member) => Effect.Effect<void>
  readonly failed: (member: Member, error: InferenceError) => Effect.Effect<void>
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
  members: ReadonlyArray<Member>,
  slots: Pick<Slots, "serve" | "waiting">
) {
  const scope = yield* Effect.scope
  let lastWanted = -Infinity
  /** Opened whenever a server returns. */
  const isBack = Latch.makeUnsafe(true)
  let isOutageLogged = false

  const markUp = Effect.fnUntraced(function* (member: Member) {
    member.isUp = true
    member.isProbed = false
    isBack.openUnsafe()
    yield* Effect.logInfo("inference server is back", { server: member.backend.server })
    yield* slots.serve
  })

  const isHealthy = (member: Member): Effect.Effect<boolean> =>
    member.healthCheck
      ? Effect.timeoutOption(member.backend.health, healthTimeout).pipe(
          Effect.map(Option.isSome),
          Effect.catch((error) =>
            Effect.sync(() => {
              member.lastError = error
              return false
            })
          )
        )
      : Effect.succeed(true)

  /** Probes a server that is out until it is back or no longer needed. */
  let lastReason = ""
  const probe = (member: Member): Effect.Effect<void> =>
    Effect.suspend(() => {
      member.isProbed = true
      return Effect.gen(function* () {
        while (true) {
          const delay = Math.min(lastProbeMillis, firstProbeMillis * 2 ** Math.min(member.setbacks, 10))
          yield* Effect.sleep(Duration.millis(delay * (yield* Random.nextBetween(0.8, 1.2))))
          if (yield* isHealthy(member)) return yield* markUp(member)
          member.setbacks++
          if (slots.waiting() === 0 && (yield* Clock.currentTimeMillis) - lastWanted > probeWhileWantedMillis) {
            member.isProbed = false
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
        : Effect.logWarning(
            "waiting for an inference server: start one (vLLM, SGLang or npx @atropos/cli policy --model …), or give another address (--openai.base_url)",
            {
              seconds,
              tried: members.map(({ backend }) => backend.server).join(", "),
              reason: lastReason,
              requests: slots.waiting()
            }
          )
    return Effect.raceFirst(Waiting.reminders(remind), isBack.await).pipe(
      Effect.ensuring(Effect.sync(() => void (isOutageLogged = false))),
      Effect.forkIn(scope),
      Effect.asVoid
    )
  })

  const markDown = Effect.fnUntraced(function* (member: Member, error: InferenceError) {
    lastReason = error.message
    member.isUp = false
    member.downSince = yield* Clock.currentTimeMillis
    member.setbacks++
    yield* Effect.logWarning("inference server is out", { server: member.backend.server, reason: error.message })
    isBack.closeUnsafe()
    if (!isOutageLogged && members.every(({ isUp }) => !isUp)) yield* logOutage
    if (!member.isProbed) yield* probe(member)
    // Requests waiting for this server go elsewhere.
    yield* slots.serve
  })

  const coolDown = Effect.fnUntraced(function* (member: Member, millis: number) {
    const until = (yield* Clock.currentTimeMillis) + millis
    if (until <= member.coolingUntil) return
    member.coolingUntil = until
    member.isCooling = true
    yield* Effect.gen(function* () {
      yield* Effect.sleep(Duration.millis(millis))
      if (member.coolingUntil > until) return
      member.isCooling = false
      yield* slots.serve
    }).pipe(Effect.forkIn(scope))
  })

  const health: Health = {
    wanted: Effect.gen(function* () {
      lastWanted = yield* Clock.currentTimeMillis
      for (const member of members) if (!member.isUp && !member.isProbed) yield* probe(member)
    }),
    succeeded: (member) =>
      Effect.sync(() => {
        member.strikes = 0
        member.setbacks = 0
      }),
    failed: Effect.fnUntraced(function* (member, error) {
      member.lastError = error
      if (error.retryAfterMillis !== undefined) yield* coolDown(member, error.retryAfterMillis)
      if (error.reason === "rejected" || error.reason === "unsupported" || error.reason === "overloaded") return
      member.strikes++
      if (member.isUp && (error.reason === "unreachable" || member.strikes >= strikesAllowed))
        yield* markDown(member, error)
    })
  }
  return health
})
