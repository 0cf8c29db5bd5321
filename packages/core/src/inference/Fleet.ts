/**
 * The inference servers there are: which of them are healthy, which has the most room, and who waits for one.
 *
 * Guarantees: never more requests in flight than a lane's limit; waiters are served in order of arrival as soon as a
 * slot is released, a server recovers or a weight changes (nobody polls: Q-60); a wait ends in `noServer` once no
 * server has been healthy for `serverWait`; a slot is given back whatever happens to its holder.
 *
 * Health is learnt from the requests themselves: a connection that fails takes a server out at once, other failures
 * after three in a row. A server that is out is asked for its health, ever less often, only while requests keep coming
 * and is back with one more failure to its credit. 429 and 503 with Retry-After are no ill health: nothing is
 * sent to that server before the time it named.
 */
import { Clock, Deferred, Duration, Effect, Latch, Option, Random, type Scope } from "effect"
import { InferenceError, type ServerMetrics, type Split } from "./backend/Inference.ts"
import type { Server } from "./backend/ServerSettings.ts"
import * as Waiting from "../base/Waiting.ts"
import type { Backend } from "./backend/Backend.ts"
import * as Lane from "./Lane.ts"

/** One server with its limits and its health. Only `Fleet` writes to it, but for `ignoresN`. */
export interface Member {
  readonly backend: Backend
  readonly timeout: Duration.Duration
  readonly healthCheck: boolean
  readonly lanes: { readonly [S in Split]: Lane.Lane }
  /** The server answers with one completion whatever `n` says. */
  ignoresN: boolean
  isUp: boolean
  /** Milliseconds since the epoch; meaningful while not up. */
  downSince: number
  /** Failures since the last success. */
  strikes: number
  /** Times it went down, and health questions unanswered, since the last success. */
  setbacks: number
  /** Nothing is sent before this time, in milliseconds since the epoch. */
  coolingUntil: number
  isCooling: boolean
  isProbed: boolean
  lastError: InferenceError | undefined
}

/** What a request wants of a server. */
export interface Want {
  readonly split: Split
  readonly isEligible: (member: Member) => boolean
  /** Wait for this one while it is healthy. */
  readonly prefer: Member | undefined
  /** Go elsewhere while anyone else is healthy. */
  readonly avoid: ReadonlySet<Member>
}

/** How an attempt ended: with an answer of so many tokens, or with a failure. */
export type Outcome =
  | { readonly tokens: number; readonly error?: never }
  | { readonly tokens: 0; readonly error: InferenceError }

export interface Fleet {
  readonly members: ReadonlyArray<Member>
  /**
   * Occupies a slot, waiting for one as long as it makes sense. To be called in an uninterruptible region; `restore` is
   * its own.
   */
  readonly take: (
    want: Want,
    restore: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  ) => Effect.Effect<Member, InferenceError>
  readonly release: (member: Member, split: Split) => Effect.Effect<void>
  /** Records how an attempt ended and what that says of the server's health. */
  readonly learn: (
    member: Member,
    split: Split,
    attempt: { readonly startedAt: number; readonly isRetry: boolean } & Outcome
  ) => Effect.Effect<void>
  /** Whether a request could go to a server it should not avoid, now or when a slot is free. */
  readonly hasAlternative: (want: Want) => boolean
  /** The healthy server with the most room, slot or no slot; none while no one is healthy. */
  readonly roomiest: (isEligible: (member: Member) => boolean) => Member | undefined
  readonly setWeight: (weight: number) => Effect.Effect<void>
  readonly metrics: Effect.Effect<ReadonlyArray<ServerMetrics>>
}

export interface MemberSettings extends Pick<
  Server,
  "timeout" | "healthCheck" | "nKwargIsIgnored" | "numMaxRequestsAtOnce" | "numRequestsForEval" | "rollingBufferLength"
> {
  readonly backend: Backend
}

export interface Options {
  /** How long a request waits while nobody is healthy. */
  readonly serverWait: Duration.Duration
  /** Added to the `noServer` error: what the user might do. */
  readonly advice: string
}

interface Waiter {
  readonly want: Want
  readonly granted: Deferred.Deferred<void>
  member: Member | undefined
}

const strikesAllowed = 3
const firstProbeMillis = 200
const lastProbeMillis = 15_000
const healthTimeout = Duration.seconds(5)
/** A server that is down is let be when no request has come for this long. */
const probeWhileWantedMillis = 60_000

export const make = Effect.fn("Fleet.make")(function* (
  settings: ReadonlyArray<MemberSettings>,
  { advice, serverWait }: Options
): Effect.fn.Return<Fleet, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const members = settings.map(toMember)
  const waiters = { train: new Set<Waiter>(), eval: new Set<Waiter>() } satisfies { [S in Split]: Set<Waiter> }
  const serverWaitMillis = Duration.toMillis(serverWait)
  let lastWanted = -Infinity
  /** Opened whenever a server comes back. */
  const isBack = Latch.makeUnsafe(true)

  /** Servers a request may go to, the ones it should avoid left out while there are others. */
  const candidates = ({ avoid, isEligible, prefer }: Want): ReadonlyArray<Member> => {
    const usable = members.filter((member) => member.isUp && !member.isCooling && isEligible(member))
    const fresh = avoid.size === 0 ? usable : usable.filter((member) => !avoid.has(member))
    const pool = fresh.length > 0 ? fresh : usable
    return prefer !== undefined && pool.includes(prefer) ? [prefer] : pool
  }

  const enterRoomiest = (want: Want): Member | undefined => {
    const chosen = mostRoom(candidates(want), want.split)
    if (chosen === undefined || chosen.lanes[want.split].room === 0) return undefined
    chosen.lanes[want.split].enter()
    return chosen
  }

  /** Gives free slots to those who wait, first come first served. */
  const serve = (split: Split): void => {
    const queue = waiters[split]
    for (const waiter of queue) {
      if (!members.some((member) => member.isUp && member.lanes[split].room > 0)) return
      waiter.member = enterRoomiest(waiter.want)
      if (waiter.member === undefined) continue
      queue.delete(waiter)
      Deferred.doneUnsafe(waiter.granted, Effect.void)
    }
  }
  const serveAll = Effect.sync(() => {
    serve("train")
    serve("eval")
  })

  const noServer = (isEligible: (member: Member) => boolean, waitedMillis: number): InferenceError => {
    const tried = members.filter(isEligible)
    const list = tried.map(({ backend, lastError }) => `${backend.server} (${lastError?.message ?? "not healthy"})`)
    return new InferenceError({
      reason: "noServer",
      server: tried.map(({ backend }) => backend.server).join(", "),
      message: `no healthy inference server for ${Math.round(waitedMillis / 100) / 10} s; tried ${list.join("; ")}${advice}`
    })
  }

  const wait = Effect.fnUntraced(function* (waiter: Waiter) {
    const since = yield* Clock.currentTimeMillis
    while (true) {
      const eligible = members.filter(waiter.want.isEligible)
      const now = yield* Clock.currentTimeMillis
      const lonelySince = Math.max(since, ...eligible.map(({ downSince }) => downSince))
      const isLonely = eligible.every(({ isUp }) => !isUp)
      if (isLonely && now - lonelySince >= serverWaitMillis) {
        return yield* noServer(waiter.want.isEligible, now - lonelySince)
      }
      const patience = isLonely ? lonelySince + serverWaitMillis - now : serverWaitMillis
      const granted = yield* Effect.timeoutOption(Deferred.await(waiter.granted), Duration.millis(patience))
      if (Option.isSome(granted)) return undefined
    }
  })

  const release = (member: Member, split: Split): Effect.Effect<void> =>
    Effect.sync(() => {
      member.lanes[split].leave()
      serve(split)
    })

  const take: Fleet["take"] = (want, restore) =>
    Effect.gen(function* () {
      lastWanted = yield* Clock.currentTimeMillis
      for (const member of members) if (!member.isUp && !member.isProbed) yield* probe(member)
      const free = waiters[want.split].size === 0 ? enterRoomiest(want) : undefined
      if (free !== undefined) return free
      const waiter: Waiter = { want, granted: Deferred.makeUnsafe(), member: undefined }
      waiters[want.split].add(waiter)
      // Somebody ahead may want what is full while this one wants what is free.
      serve(want.split)
      yield* restore(wait(waiter)).pipe(
        Effect.onError(() =>
          Effect.suspend(() => {
            waiters[want.split].delete(waiter)
            return waiter.member === undefined ? Effect.void : release(waiter.member, want.split)
          })
        )
      )
      // Granted by `serve`, which sets the member first.
      return waiter.member!
    })

  const markUp = (member: Member) =>
    Effect.gen(function* () {
      member.isUp = true
      member.isProbed = false
      isBack.openUnsafe()
      yield* Effect.logInfo("inference server is back", { server: member.backend.server })
      yield* serveAll
    })

  /** Asks a server that is out for its health until it is back, or until nobody wants it any more. */
  const probe = (member: Member): Effect.Effect<void> =>
    Effect.suspend(() => {
      member.isProbed = true
      const ask = member.healthCheck
        ? Effect.timeoutOption(member.backend.health, healthTimeout)
        : Effect.succeedSome(undefined)
      return Effect.gen(function* () {
        while (true) {
          const delay = Math.min(lastProbeMillis, firstProbeMillis * 2 ** Math.min(member.setbacks, 10))
          yield* Effect.sleep(Duration.millis(delay * (yield* Random.nextBetween(0.8, 1.2))))
          const isHealthy = yield* ask.pipe(
            Effect.map(Option.isSome),
            Effect.catch((error) =>
              Effect.sync(() => {
                member.lastError = error
                return false
              })
            )
          )
          if (isHealthy) {
            yield* markUp(member)
            return undefined
          }
          member.setbacks++
          const isWanted = waiters.train.size + waiters.eval.size > 0
          if (!isWanted && (yield* Clock.currentTimeMillis) - lastWanted > probeWhileWantedMillis) {
            member.isProbed = false
            return undefined
          }
        }
      }).pipe(Effect.forkIn(scope), Effect.asVoid)
    })

  let isToldOfOutage = false
  /** While no server is up and somebody waits for one. */
  const tellOfOutage = Effect.suspend(() => {
    isToldOfOutage = true
    const say = (seconds: number) =>
      waiters.train.size + waiters.eval.size === 0
        ? Effect.void
        : Effect.logWarning(
            "waiting for an inference server: start one (vLLM, SGLang or npx @atropos/cli policy --model …), or give another address (--openai.base_url)",
            {
              seconds,
              tried: members.map(({ backend }) => backend.server).join(", "),
              requests: waiters.train.size + waiters.eval.size
            }
          )
    return Effect.raceFirst(Waiting.reminders(say), isBack.await).pipe(
      Effect.ensuring(Effect.sync(() => void (isToldOfOutage = false))),
      Effect.forkIn(scope),
      Effect.asVoid
    )
  })

  const markDown = (member: Member, error: InferenceError) =>
    Effect.gen(function* () {
      member.isUp = false
      member.downSince = yield* Clock.currentTimeMillis
      member.setbacks++
      yield* Effect.logWarning("inference server is out", { server: member.backend.server, reason: error.message })
      isBack.closeUnsafe()
      if (!isToldOfOutage && members.every(({ isUp }) => !isUp)) yield* tellOfOutage
      if (!member.isProbed) yield* probe(member)
      // Those who wait for this one go elsewhere.
      yield* serveAll
    })

  const coolDown = (member: Member, millis: number) =>
    Effect.gen(function* () {
      const until = (yield* Clock.currentTimeMillis) + millis
      if (until <= member.coolingUntil) return
      member.coolingUntil = until
      member.isCooling = true
      yield* Effect.gen(function* () {
        yield* Effect.sleep(Duration.millis(millis))
        if (member.coolingUntil > until) return
        member.isCooling = false
        yield* serveAll
      }).pipe(Effect.forkIn(scope))
    })

  const learn: Fleet["learn"] = (member, split, { error, isRetry, startedAt, tokens }) =>
    Effect.gen(function* () {
      const endedAt = yield* Clock.currentTimeMillis
      yield* member.lanes[split].record({ startedAt, endedAt, isRetry, tokens, succeeded: error === undefined })
      if (error === undefined) {
        member.strikes = 0
        member.setbacks = 0
        return
      }
      member.lastError = error
      if (error.retryAfterMillis !== undefined) yield* coolDown(member, error.retryAfterMillis)
      if (error.reason === "rejected" || error.reason === "unsupported" || error.reason === "overloaded") return
      member.strikes++
      if (member.isUp && (error.reason === "unreachable" || member.strikes >= strikesAllowed))
        yield* markDown(member, error)
    })

  return {
    members,
    take,
    release,
    learn,
    hasAlternative: (want) => candidates(want).some((member) => !want.avoid.has(member)),
    roomiest: (isEligible) =>
      mostRoom(
        members.filter((member) => member.isUp && isEligible(member)),
        "train"
      ),
    setWeight: (weight) =>
      Effect.suspend(() => {
        for (const { lanes } of members) lanes.train.setWeight(weight)
        return serveAll
      }),
    metrics: Effect.sync(() =>
      members.flatMap(({ backend, isUp, lanes }) =>
        [lanes.train, lanes.eval].map((lane) => ({ server: backend.server, healthy: isUp, ...lane.figures() }))
      )
    )
  }
})

const toMember = (settings: MemberSettings): Member => {
  const { backend, rollingBufferLength } = settings
  return {
    backend,
    timeout: Duration.seconds(settings.timeout),
    healthCheck: settings.healthCheck,
    lanes: {
      train: Lane.make(backend.server, "train", settings.numMaxRequestsAtOnce, rollingBufferLength),
      eval: Lane.make(backend.server, "eval", settings.numRequestsForEval, rollingBufferLength)
    },
    ignoresN: settings.nKwargIsIgnored,
    isUp: true,
    downSince: -Infinity,
    strikes: 0,
    setbacks: 0,
    coolingUntil: -Infinity,
    isCooling: false,
    isProbed: false,
    lastError: undefined
  }
}

/** The member with the most room in a lane, the first of equals. */
const mostRoom = (members: ReadonlyArray<Member>, split: Split): Member | undefined => {
  let best: Member | undefined
  for (const member of members) {
    if (best === undefined || member.lanes[split].room > best.lanes[split].room) best = member
  }
  return best
}
