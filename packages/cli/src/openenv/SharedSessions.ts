/**
 * Manages sessions that MCP clients create over HTTP and share with a socket by id: tools are called over HTTP, while
 * the socket resets and steps the same episode. They end when closed or idle; one with a socket is never idle, and
 * closing it takes effect when the socket ends.
 */
import { Uuid } from "@atropos/core"
import { type Duration, Effect, Exit, Scope } from "effect"
import * as Idle from "./Idle.ts"
import type { Session } from "./Session.ts"
import { UnknownSession } from "./UnknownSession.ts"

export interface SharedSessions<E = never> {
  /** Creates a session without an episode and returns its id. */
  readonly create: Effect.Effect<string, E>
  readonly named: (id: string) => Effect.Effect<Session, UnknownSession>
  /** Attaches a socket for the duration of the scope, one at a time. */
  readonly attach: (id: string) => Effect.Effect<Session, UnknownSession, Scope.Scope>
  /** Returns true if it has ended now, false if it ends with its socket. */
  readonly close: (id: string) => Effect.Effect<boolean, UnknownSession>
}

interface Shared {
  readonly session: Session
  readonly scope: Scope.Closeable
  readonly idle: Idle.Idle
  isAttached: boolean
  isClosing: boolean
}

export const make = <E>(
  open: Effect.Effect<Session, E, Scope.Scope>,
  { idle, scope }: { readonly idle: Duration.Input; readonly scope: Scope.Scope }
): SharedSessions<E> => {
  const all = new Map<string, Shared>()

  const end = (id: string, one: Shared) =>
    Effect.suspend(() => {
      all.delete(id)
      return Effect.andThen(one.idle.paused, Scope.close(one.scope, Exit.void))
    })
  const find = (id: string) =>
    Effect.suspend(() => {
      const one = all.get(id)
      if (one !== undefined) return Effect.succeed(one)
      const message = `Unknown session_id: ${id}: it was closed, was idle for too long, or never started`
      return Effect.fail(new UnknownSession({ message }))
    })

  const create = Effect.gen(function* () {
    const own = yield* Scope.fork(scope)
    const session = yield* Effect.onError(Scope.provide(open, own), () => Scope.close(own, Exit.void))
    const id = Uuid.v4()
    const one: Shared = {
      session,
      scope: own,
      idle: Idle.make(
        idle,
        Effect.suspend(() => end(id, one)),
        scope
      ),
      isAttached: false,
      isClosing: false
    }
    all.set(id, one)
    yield* one.idle.used
    return id
  }).pipe(Effect.uninterruptible)

  const attach = Effect.fnUntraced(function* (id: string) {
    const one = yield* find(id)
    yield* Effect.acquireRelease(
      Effect.suspend(() => {
        if (one.isAttached) {
          return Effect.fail(new UnknownSession({ message: `Session ${id} already has an attached WebSocket` }))
        }
        one.isAttached = true
        return one.idle.paused
      }),
      () =>
        Effect.suspend(() => {
          one.isAttached = false
          return one.isClosing ? end(id, one) : one.idle.used
        })
    )
    return one.session
  })

  return {
    create,
    attach,
    named: (id) =>
      Effect.flatMap(find(id), (one) => Effect.as(one.isAttached ? Effect.void : one.idle.used, one.session)),
    close: (id) =>
      Effect.flatMap(find(id), (one) => {
        one.isClosing = true
        return one.isAttached ? Effect.succeed(false) : Effect.as(end(id, one), true)
      })
  }
}
