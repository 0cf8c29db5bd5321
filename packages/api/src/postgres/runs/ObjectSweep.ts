/**
 * Removes unreferenced objects: those of dropped groups, and of writes that never became a row. Only objects of long
 * past hours are checked, to which nothing is written any more (`Objects`).
 */
import { Duration, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { ObjectStore } from "../../store/ObjectStore.ts"
import type { StoreError } from "../../store/TrajectoryStore.ts"
import * as Objects from "../base/Objects.ts"
import * as Rows from "../base/Rows.ts"

/** A write takes seconds, clocks differ by less than minutes, and a reader of a row fetches its object immediately. */
const patience = Duration.toMillis("2 hours")
const removedAtOnce = 8

export const make: Effect.Effect<
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
