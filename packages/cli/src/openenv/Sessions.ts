/**
 * The sessions that are open, no more at once than a limit. Those over a socket end with it, those over HTTP are named
 * by their episode's id and end when nobody uses them for a while. Those of MCP's clients: `SharedSessions`.
 */
import type { Driven } from "@atropos/core"
import { Duration, Effect, Exit, Schema, Scope } from "effect"
import * as Idle from "./Idle.ts"
import * as Session from "./Session.ts"
import * as SharedSessions from "./SharedSessions.ts"
import { UnknownSession } from "./UnknownSession.ts"

/** There are as many sessions as there may be. */
export class CapacityReached extends Schema.TaggedError<CapacityReached>()("CapacityReached", {
  active: Schema.Int,
  limit: Schema.Int
}) {
  override get message() {
    return `Server at capacity: ${this.active}/${this.limit} sessions active. Cannot accept new connections.`
  }
}

export interface Options {
  /** Sessions at once. */
  readonly limit: number
  /** How long a session may be left alone. */
  readonly idle: Duration.Input
}

export interface Sessions {
  readonly idle: Duration.Duration
  /** A session as long as the scope is open. */
  readonly open: Effect.Effect<Session.Session, CapacityReached, Scope.Scope>
  /** A session over HTTP whose episode begins now, in place of the one of this id where there is one. */
  readonly begin: <A extends { readonly done: boolean }, E>(
    id: string | undefined,
    use: (session: Session.Session) => Effect.Effect<A, E>
  ) => Effect.Effect<A, E | CapacityReached>
  /** The session of this id; without one, the only one there is. */
  readonly named: (id: string | undefined) => Effect.Effect<Session.Session, UnknownSession>
  readonly shared: SharedSessions.SharedSessions<CapacityReached>
  /** Those of the first item, for who has no session. */
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
        message: `${held.size} episodes are open over HTTP: say which one by "episode_id", as reset's metadata gave it, or use the socket at /ws`
      })
    }
    const name = id ?? only
    const one = name === undefined ? undefined : held.get(name)
    if (name === undefined || one === undefined) {
      return yield* new UnknownSession({
        message:
          id === undefined
            ? "there is no episode: POST /reset begins one"
            : `there is no episode ${id}: it is over, was left alone for too long, or never began`
      })
    }
    yield* one.idle.used
    return one.session
  })
  const shared = SharedSessions.make(open, { idle, scope })
  return { idle: Duration.fromInputUnsafe(idle), open, begin, named, shared, tools: first.tools }
})
