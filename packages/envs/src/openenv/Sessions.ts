/**
 * Provides sessions for episodes, as many concurrent ones as the server accepts.
 *
 * A full server (`CAPACITY_REACHED`) fails no rollout: fewer sessions run from then on (`Places`), and the episode
 * waits for its turn and restarts. A session is kept for the next episode for a few seconds, since `reset` restarts on
 * the same one.
 */
import { Duration, Effect, Exit, type Fiber, Random, Scope } from "effect"
import * as Connection from "./Connection.ts"
import { OpenEnvError } from "./OpenEnvError.ts"
import * as Places from "./Places.ts"

export interface Options extends Connection.Options {
  /** Maximum concurrent sessions, if the server accepts them. */
  readonly limit: number
}

type Episode<A, E, R> = (connection: Connection.Connection) => Effect.Effect<A, E, R>

export interface Sessions {
  /** Plays an episode on its own session. */
  readonly use: <A, E, R>(episode: Episode<A, E, R>) => Effect.Effect<A, E | OpenEnvError, R>
  /** Current maximum of open sessions. */
  readonly limit: Effect.Effect<number>
  readonly refusals: Effect.Effect<number>
}

interface Held {
  readonly connection: Connection.Connection
  readonly scope: Scope.Closeable
}

const kept = "5 seconds"
const firstPauseMillis = 500
const maxPauseMillis = 15_000

const close = ({ scope }: Held) => Scope.close(scope, Exit.void)

/** Opens a session if none is left of an earlier episode. */
const reused = (options: Connection.Options, scope: Scope.Scope) => {
  const idle = new Map<Held, Fiber.Fiber<void>>()
  const take = Effect.gen(function* () {
    for (const [held, timer] of idle) {
      idle.delete(held)
      timer.interruptUnsafe()
      if (held.connection.isOpen()) return held
      yield* close(held)
    }
    const own = yield* Scope.fork(scope)
    const connection = yield* Connection.open(options).pipe(
      Scope.provide(own),
      Effect.onError(() => Scope.close(own, Exit.void))
    )
    return { connection, scope: own }
  })
  const giveBack = (held: Held) =>
    Effect.suspend(() => {
      if (!held.connection.isOpen()) return close(held)
      const unused = Effect.suspend(() => {
        idle.delete(held)
        return close(held)
      })
      return Effect.map(Effect.forkIn(Effect.delay(unused, kept), scope), (timer) => void idle.set(held, timer))
    })
  return { take, giveBack }
}

export const make = Effect.fn("OpenEnv.Sessions.make")(function* (
  options: Options
): Effect.fn.Return<Sessions, never, Scope.Scope> {
  const { giveBack, take } = reused(options, yield* Effect.scope)
  const places = Places.make(options.limit)
  let refusals = 0

  /** Lowers the limit; returns the number of this process's other sessions, which the server has accepted. */
  const refused = ({ message }: OpenEnvError) =>
    Effect.suspend(() => {
      refusals++
      const before = places.limit()
      const others = places.lower()
      const limit = places.limit()
      const log =
        limit < before || refusals === 1
          ? Effect.logWarning("OpenEnv server full; reducing concurrent episodes", { server: message, limit })
          : Effect.void
      return Effect.as(log, { others })
    })
  const tried = <A, E, R>(episode: Episode<A, E, R>) =>
    holding(take, ({ connection }) => episode(connection), giveBack).pipe(
      Effect.map((result) => {
        places.raise()
        return { result }
      }),
      Effect.catchIf(isFull, refused)
    )
  const use = <A, E, R>(episode: Episode<A, E, R>, refusal = 0): Effect.Effect<A, E | OpenEnvError, R> =>
    holding(
      places.enter,
      () => tried(episode),
      () => places.leave
    ).pipe(
      Effect.flatMap((ended) => {
        if ("result" in ended) return Effect.succeed(ended.result)
        const again = Effect.suspend(() => use(episode, refusal + 1))
        return ended.others > 0 ? again : Effect.andThen(pause(refusal), again)
      })
    )
  return {
    use: (episode) => use(episode),
    limit: Effect.sync(places.limit),
    refusals: Effect.sync(() => refusals)
  }
})

/** Uses a resource it waits for, and releases it; unlike `Effect.acquireUseRelease`, waiting is interruptible. */
const holding = <H, E1, R1, A, E2, R2>(
  take: Effect.Effect<H, E1, R1>,
  use: (held: H) => Effect.Effect<A, E2, R2>,
  giveBack: (held: H) => Effect.Effect<void>
): Effect.Effect<A, E1 | E2, R1 | R2> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(restore(take), (held) => Effect.ensuring(restore(use(held)), giveBack(held)))
  )

const isFull = (error: unknown): error is OpenEnvError => error instanceof OpenEnvError && error.reason === "capacity"

/** Other clients hold the server's sessions; the server does not report when one is free. */
const pause = (refusal: number) =>
  Effect.flatMap(Random.next, (share) =>
    Effect.sleep(
      Duration.millis(Math.min(maxPauseMillis, firstPauseMillis * 2 ** Math.min(refusal, 10)) * (0.5 + share / 2))
    )
  )
