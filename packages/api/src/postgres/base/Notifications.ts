/**
 * Notifies listeners of changes of a run, in this process and in others on the same database. Notifications are
 * conflated: a busy listener gets one element for many changes, and other processes are notified at most ten times a
 * second.
 */
import { Uuid } from "@atropos/core"
import * as PgClient from "@effect/sql-pg/PgClient"
import { Effect, PubSub, Queue, Schedule, type Scope, Stream } from "effect"
import { Database } from "../../database/Database.ts"
import * as Failure from "./Failure.ts"
import type { RunStateCache } from "./RunStateCache.ts"

export interface Notifications {
  readonly changed: (run: string) => void
  /** This process has only changed queue counts or leases of the run. */
  readonly counted: (run: string) => void
  readonly measured: (run: string) => void
  /** Number of changes by this process to any run, from which idle work knows if the service is busy. */
  readonly count: () => number
  /** Changes of a run, or of the topic of `metricsOf`. */
  readonly stream: (run: string) => Stream.Stream<void>
}

const channel = "atropos"

/** The topic of a run's metrics; names of runs have no slash. */
export const metricsOf = (run: string): string => `${run}/metrics`

export const make = Effect.fnUntraced(function* (
  runStates: RunStateCache
): Effect.fn.Return<Notifications, never, PgClient.PgClient | Database | Scope.Scope> {
  const pg = yield* PgClient.PgClient
  const database = yield* Database
  const processId = Uuid.v7()
  const topics = new Map<string, PubSub.PubSub<void>>()
  const pending = new Set<string>()
  let count = 0
  const wake = yield* Queue.sliding<void>(1)

  const publish = (run: string): void => {
    const topic = topics.get(run)
    if (topic !== undefined) PubSub.publishUnsafe(topic, undefined)
  }

  const notifyAll = (run: string): void => {
    count++
    publish(run)
    if (database.kind === "pglite") return
    pending.add(run)
    Queue.offerUnsafe(wake, undefined)
  }

  const changed = (run: string): void => {
    runStates.invalidate(run)
    notifyAll(run)
  }

  const counted = (run: string): void => {
    runStates.invalidateCounts(run)
    notifyAll(run)
  }

  const stream = (run: string): Stream.Stream<void> =>
    Stream.unwrap(
      Effect.gen(function* () {
        const existing = topics.get(run)
        if (existing !== undefined) return Stream.fromPubSub(existing)
        const topic = yield* PubSub.sliding<void>(1)
        topics.set(run, topic)
        return Stream.fromPubSub(topic)
      })
    )

  // The embedded database has a single process and connection, which LISTEN would block.
  if (database.kind === "postgres") {
    const publishPending = Effect.gen(function* () {
      yield* Queue.take(wake)
      const runs = [...pending]
      pending.clear()
      for (const run of runs) yield* pg.notify(channel, `${processId} ${run}`)
      yield* Effect.sleep("100 millis")
    })
    yield* publishPending.pipe(
      Effect.catchTag("SqlError", Failure.warn("other processes not notified of a change")),
      Effect.forever,
      Effect.forkScoped
    )
    const listen = Effect.scoped(
      Effect.gen(function* () {
        const notifications = yield* pg.listen(channel)
        // Changes from before the connection are unknown.
        runStates.invalidateAll()
        for (const run of topics.keys()) publish(run)
        yield* Stream.runForEach(Stream.fromQueue(notifications), ({ payload }) =>
          Effect.sync(() => {
            const space = payload.indexOf(" ")
            if (payload.slice(0, space) === processId) return
            const run = payload.slice(space + 1)
            runStates.invalidate(run)
            publish(run)
          })
        )
      })
    )
    yield* listen.pipe(
      Effect.tapError(Failure.warn("changes by other processes briefly missed")),
      Effect.retry(Schedule.spaced("1 second")),
      Effect.repeat(Schedule.spaced("1 second")),
      Effect.forkScoped
    )
  }
  return { changed, counted, count: () => count, measured: (run) => notifyAll(metricsOf(run)), stream }
})
