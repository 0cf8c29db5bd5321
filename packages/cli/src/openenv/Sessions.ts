/**
 * Manages the open sessions, up to a limit. Socket sessions end with their socket; HTTP sessions are named by their
 * episode id and end when idle. Those of MCP clients: `SharedSessions`.
 */
import type { Driven } from "@atropos/envs"
import { Duration, Effect, Exit, Schema, Scope } from "effect"
import * as Idle from "./Idle.ts"
import * as Session from "./Session.ts"
import * as SharedSessions from "./SharedSessions.ts"
import { UnknownSession } from "./UnknownSession.ts"

/** The limit of open sessions is reached. */
export class CapacityReached extends Schema.TaggedError<CapacityReached>()("CapacityReached", {
  active: Schema.Int,
  limit: Schema.Int
}) {
  override get message() {
    return `Server at capacity: ${this.active}/${this.limit} sessions active. Cannot accept new connections.`
  }
}

export interface Options {
  readonly limit: number
  readonly idle: Duration.Input
}

export interface Sessions {
  readonly idle: Duration.Duration
  /** Opens a session for the duration of the scope. */
  readonly open: Effect.Effect<Session.Session, CapacityReached, Scope.Scope>
  /** Opens an HTTP session with a new episode, replacing the one with this id, if any. */
  readonly begin: <A extends { readonly done: boolean }, E>(
    id: string | undefined,
    use: (session: Session.Session) => Effect.Effect<A, E>
  ) => Effect.Effect<A, E | CapacityReached>
  /** The session with this id; without an id, the only open one. */
  readonly named: (id: string | undefined) => Effect.Effect<Session.Session, UnknownSession>
  readonly shared: SharedSessions.SharedSessions<CapacityReached>
  /** Tools of the first item, for clients without a session. */
  readonly tools: Driven.Asked["tools"]
}

interface Held {
  readonly session: Session.Session
  readonly scope: Scope.Closeable
  readonly idle: Idle.Idle
}

export const make = Effect.fn("openenv.Sessions.make")(function* (
  environment: Driven.DrivenEnvironment,
  first: Pick<Driven.Asked, "tools">,
  { idle, limit }: Options
): Effect.fn.Return<Sessions, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const held = new Map<string, Held>()
  let active = 0

  const open = Effect.gen(function* () {
    yield* Effect.acquireRelease(
      Effect.suspend(() => {
        if (active >= limit) return Effect.fail(new CapacityReached({ active, limit }))
        active++
        return Effect.void
      }),
      () => Effect.sync(() => active--)
    )
    return yield* Session.make(environment, first)
  })

  const end = (id: string, one: Held) =>
    Effect.suspend(() => {
      if (held.get(id) === one) held.delete(id)
      return Effect.andThen(one.idle.paused, Scope.close(one.scope, Exit.void))
    })
  const begin: Sessions["begin"] = Effect.fnUntraced(function* (id, use) {
    const before = id === undefined ? undefined : held.get(id)
    if (id !== undefined && before !== undefined) yield* end(id, before)
    const own = yield* Scope.fork(scope)
    const began = Effect.gen(function* () {
      const session = yield* Scope.provide(open, own)
      const result = yield* use(session)
      const { episode_id: name } = yield* session.state
      const one: Held = {
        session,
        scope: own,
        idle: Idle.make(
          idle,
          Effect.suspend(() => end(name!, one)),
          scope
        )
      }
      held.set(name!, one)
      yield* one.idle.used
      return result
    })
    return yield* Effect.onError(began, () => Scope.close(own, Exit.void))
  })

  const named: Sessions["named"] = Effect.fnUntraced(function* (id) {
    const [only, ...others] = held.keys()
    if (id === undefined && others.length > 0) {
      return yield* new UnknownSession({
        message: `${held.size} episodes are open over HTTP: give the "episode_id" from the metadata of reset, or use the socket at /ws`
      })
    }
    const name = id ?? only
    const one = name === undefined ? undefined : held.get(name)
    if (name === undefined || one === undefined) {
      return yield* new UnknownSession({
        message:
          id === undefined
            ? "no episode is open: start one with POST /reset"
            : `episode not found: ${id}; it ended, was idle for too long, or never started`
      })
    }
    yield* one.idle.used
    return one.session
  })
  const shared = SharedSessions.make(open, { idle, scope })
  return { idle: Duration.fromInputUnsafe(idle), open, begin, named, shared, tools: first.tools }
})
