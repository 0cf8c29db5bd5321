/**
 * Runs periodic background work in small portions: releases buffered groups after their max wait, wakes claimers when a
 * lease expires, drops the oldest consumed groups above the limit, and removes the remains of resets and deletions and
 * unreferenced objects. Safe to run in several processes: every step is one statement, and rows locked by another
 * process are skipped.
 */
import { Clock, Duration, Effect, Schedule, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import type { StoreError } from "../../store/TrajectoryStore.ts"
import type { Notifications } from "../base/Notifications.ts"
import * as Failure from "../base/Failure.ts"
import type { LastSeen } from "./LastSeen.ts"
import * as Retention from "./Retention.ts"
import type { Settings } from "../base/Settings.ts"
import type { StoreClock } from "../base/StoreClock.ts"
import { ObjectStore } from "../../store/ObjectStore.ts"
import * as Objects from "../base/Objects.ts"
import * as Rows from "../base/Rows.ts"

/**
 * Removes unreferenced objects: those of dropped groups, and of writes that never became a row. Only objects of long
 * past hours are checked, to which nothing is written any more (`Objects`).
 * A write takes seconds, clocks differ by less than minutes, and a reader of a row fetches its object immediately.
 */
const patience = Duration.toMillis("2 hours")
const removedAtOnce = 8

const makeObjectSweep: Effect.Effect<
  (now: number) => Effect.Effect<void, SqlError | StoreError>,
  never,
  SqlClient.SqlClient
> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const store = yield* ObjectStore

  return Effect.fnUntraced(function* (now: number) {
    if (store === undefined) return
    const prefix = yield* Effect.provideService(Objects.home, SqlClient.SqlClient, sql)
    let after: string | undefined
    for (;;) {
      const names = yield* store.list(prefix, after)
      after = names.at(-1)
      if (after === undefined) return
      const old = names.flatMap((name) => {
        const identity = Objects.identityIn(name.slice(prefix.length))
        return identity !== undefined && Objects.hourOf(identity) <= now - patience ? [{ name, identity }] : []
      })
      // Names are sorted by hour.
      if (old.length === 0) return
      const referred = yield* sql<{ identity: Uint8Array }>`
        select substring(payload for 36) as identity from grp
        where encoding > 3 and substring(payload for 36) = any(${Rows.array(
          "bytea",
          old.map(({ identity }) => identity)
        )}::bytea[])`
      const living = new Set(referred.map(({ identity }) => Objects.nameOf(identity)))
      yield* Effect.forEach(
        old.filter(({ identity }) => !living.has(Objects.nameOf(identity))),
        ({ name }) => store.remove(name),
        { concurrency: removedAtOnce, discard: true }
      )
    }
  })
})

const every = (duration: Duration.Input, work: (now: number) => Effect.Effect<void, SqlError | StoreError>) =>
  Effect.suspend(() => {
    // An outage is reported once.
    let hasFailed = false
    return Clock.currentTimeMillis.pipe(
      Effect.flatMap(work),
      Effect.matchEffect({
        onSuccess: () => Effect.sync(() => void (hasFailed = false)),
        onFailure: (error) => {
          const warning = isSqlError(error)
            ? Failure.warn("database maintenance failed")(error)
            : Effect.logWarning("objects not swept", { reason: error.message })
          const report = hasFailed ? Effect.void : warning
          hasFailed = true
          return report
        }
      }),
      Effect.repeat(Schedule.spaced(duration)),
      Effect.forkScoped
    )
  })

export const make = Effect.fnUntraced(function* (
  settings: Settings,
  notifications: Notifications,
  lastSeen: LastSeen,
  clock: StoreClock
): Effect.fn.Return<void, never, SqlClient.SqlClient | Scope.Scope> {
  const sql = yield* SqlClient.SqlClient
  const { dropConsumed, dropDeleted, dropUnreachable, forgetKeys } = yield* Retention.make(settings)
  const sweepObjects = yield* makeObjectSweep
  let lastTick: number | undefined

  const releaseBuffered = Effect.fnUntraced(function* (now: number) {
    const released = yield* sql<{ name: string }>`
      with late as (
        select grp.id from grp join run on run.id = grp.run_id
        where grp.place is null and run.ended_at is null and grp.created_at <= ${new Date(now - Duration.toMillis(settings.bufferPatience))}
        order by grp.id for update of grp skip locked
      ), placed as (
        update grp set place = nextval('grp_order') from late where grp.id = late.id
        returning grp.run_id, grp.env_id, grp.sequences, stored_bytes(grp.encoding, grp.payload) as bytes
      ), counted as (
        insert into queued (run_id, env_id, sequences, groups, bytes)
        select run_id, env_id, sequences, count(*), sum(bytes) from placed
        group by run_id, env_id, sequences order by run_id, env_id, sequences
        on conflict (run_id, env_id, sequences)
        do update set groups = queued.groups + excluded.groups, bytes = queued.bytes + excluded.bytes
      )
      select distinct name from run join placed on placed.run_id = run.id`
    for (const { name } of released) {
      yield* Effect.logInfo("incomplete groups queued unchanged", { run: name })
      notifications.changed(name)
    }
  })

  const wakeClaimers = Effect.gen(function* () {
    const now = yield* clock.now
    const expired = yield* sql<{ name: string }>`
      select distinct name from run join batch on batch.run_id = run.id
      where acked_at is null and lease_until > ${new Date(lastTick ?? now)} and lease_until <= ${new Date(now)}`
    lastTick = now
    for (const { name } of expired) notifications.changed(name)
  })

  yield* every("1 second", (now) => Effect.andThen(releaseBuffered(now), wakeClaimers))
  yield* every("5 seconds", () => lastSeen.flush)
  yield* every("1 second", dropConsumed)
  yield* every("5 seconds", (now) =>
    Effect.all([dropUnreachable(now), dropDeleted(now), forgetKeys(now)], { discard: true })
  )
  yield* every("10 minutes", sweepObjects)
})
