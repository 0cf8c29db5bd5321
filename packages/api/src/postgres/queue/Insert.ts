/**
 * Writes groups to a run, which is created if no trainer has registered it yet.
 *
 * Groups of their environment's registered size, and those of unknown environments, are queued (`InsertQueued`). Others
 * are buffered per environment until some of them add up to its group size (`InsertMixed`), as in the original.
 */
import type { TrajectoryApi } from "@atropos/core"
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { StoreError } from "../../store/TrajectoryStore.ts"
import type { Notifications } from "../base/Notifications.ts"
import type { PayloadCache } from "../base/PayloadCache.ts"
import type { RunView, RunStateCache } from "../base/RunStateCache.ts"
import * as UnregisteredRun from "../base/UnregisteredRun.ts"
import type { Item } from "./InsertColumns.ts"
import * as InsertMixed from "./InsertMixed.ts"
import * as InsertQueued from "./InsertQueued.ts"
import { amountOf, type QueueBound } from "./QueueBound.ts"

type Outcome = TrajectoryApi.SubmitOutcome

const isOdd = (view: RunView, { envColumn, submission }: Item): boolean => {
  const environment = envColumn < 0 ? undefined : view.environments[envColumn]
  return environment !== undefined && environment.groupSize !== submission.sequences
}

export const make = Effect.fnUntraced(function* (
  runStates: RunStateCache,
  notifications: Notifications,
  cache: PayloadCache,
  bound: Pick<QueueBound, "addWritten">
) {
  const sql = yield* SqlClient.SqlClient
  const insertQueued = yield* InsertQueued.make(cache)
  const insertMixed = yield* InsertMixed.make(cache)

  const currentView = Effect.fnUntraced(function* (name: string, now: Date) {
    const { view } = yield* runStates.recent(name)
    if (view !== undefined) return view
    yield* UnregisteredRun.create(sql, name, now)
    runStates.invalidate(name)
    return yield* runStates.get(name)
  })

  return Effect.fnUntraced(function* (
    name: string,
    items: ReadonlyArray<Item>
  ): Effect.fn.Return<ReadonlyArray<Outcome>, SqlError | StoreError> {
    const now = new Date(yield* Clock.currentTimeMillis)
    // A reset may end the run between lookup and write: then retry with its successor.
    for (let attempt = 0; attempt < 5; attempt++) {
      let view = yield* currentView(name, now)
      if (view !== undefined && items.some(({ envColumn }) => envColumn >= view!.environments.length)) {
        // It may just have registered with another process.
        runStates.invalidate(name)
        view = yield* runStates.get(name)
      }
      if (view === undefined) continue
      const { id } = view.run
      const current = view
      const outcomes = items.some((item) => isOdd(current, item))
        ? yield* insertMixed(id, items, now)
        : yield* insertQueued(id, items, now)
      if (outcomes === undefined) notifications.changed(name)
      else {
        bound.addWritten(current, amountOf(items))
        notifications.counted(name)
        return outcomes
      }
    }
    return yield* new StoreError({
      message: `the run ${name} is reset repeatedly: retry later`,
      isTransient: true,
      cause: undefined
    })
  })
})
