/** Summarises a run's queue for the viewer: counts, and groups that are stuck. */
import type { TrajectoryApi } from "@atropos/core"
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { noQueue, type TrajectoryStoreShape } from "../../store/TrajectoryStore.ts"
import * as Failure from "../base/Failure.ts"
import * as Rows from "../base/Rows.ts"
import * as Status from "../base/Status.ts"
import type { StoreClock } from "../base/StoreClock.ts"
import type { RunStateCache } from "../base/RunStateCache.ts"

/** Sums up to `limit` that any number of groups of these sizes can make. */
const reachable = (sizes: ReadonlyArray<number>, limit: number): Uint8Array => {
  const sums = new Uint8Array(limit + 1)
  sums[0] = 1
  for (const size of sizes) {
    if (size < 1) continue
    for (let sum = size; sum <= limit; sum++) sums[sum]! |= sums[sum - size]!
  }
  return sums
}

/**
 * The reason why groups of this size can never leave the queue, however many more of these sizes arrive; undefined if
 * they can.
 */
const reasonStuck = (sequences: number, sums: Uint8Array, batchSize: number): string | undefined => {
  if (sequences < 1) return "the group has no sequences"
  if (sequences > batchSize) return `its ${sequences} sequences exceed the batch size ${batchSize}`
  return sums[batchSize - sequences] === 1
    ? undefined
    : `with the sizes in the queue, groups of ${sequences} never add up to a batch of ${batchSize}`
}

export const make = Effect.fnUntraced(function* (
  runStates: RunStateCache,
  clock: StoreClock
): Effect.fn.Return<TrajectoryStoreShape["summary"], never, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient
  return Effect.fn("PgTrajectoryStore.summary")(function* (name) {
    const view = yield* runStates.get(name)
    if (view === undefined) return noQueue
    const now = yield* Clock.currentTimeMillis
    const leaseTime = yield* clock.now
    const { queued, run } = view
    const sums = reachable([...new Set(queued.map(({ sequences }) => sequences))], Math.max(0, run.batchSize))
    const stuckCounts = run.registered
      ? queued.flatMap((count) => {
          const reason = reasonStuck(count.sequences, sums, run.batchSize)
          return reason === undefined ? [] : [{ ...count, reason }]
        })
      : []
    const nameOf = (envId: number | null) => (envId === null ? null : (view.environments[envId]?.name ?? null))
    const ageSeconds = (createdAt: Date | null) =>
      createdAt === null ? 0 : Math.max(0, (now - createdAt.getTime()) / 1000)
    const stuck = yield* Effect.forEach(
      stuckCounts,
      Effect.fnUntraced(function* ({ envId, groups, reason, sequences }) {
        const [oldest] = yield* sql<{ created_at: Date | null }>`
          select created_at from grp
          where run_id = ${run.id} and env_id = ${Rows.toEnvColumn(envId)} and sequences = ${sequences}
            and batch_id is null and place is not null order by place limit 1`
        return {
          envId,
          environment: nameOf(envId),
          sequences,
          count: groups,
          reason,
          ageSeconds: ageSeconds(oldest?.created_at ?? null)
        }
      })
    )
    const buffered = view.hasBuffered
      ? yield* sql<{ env_id: number; sequences: number; count: number; oldest: Date }>`
          select env_id, sequences, count(*)::int as count, min(created_at) as oldest from grp
          where run_id = ${run.id} and place is null group by env_id, sequences order by env_id, sequences`
      : []
    return {
      currentStep: run.currentStep,
      queuedGroups: queued.reduce((sum, { groups }) => sum + groups, 0),
      queuedSequences: queued.reduce((sum, { groups, sequences }) => sum + groups * sequences, 0),
      queuedBytes: queued.reduce((sum, { bytes }) => sum + bytes, 0),
      bufferedGroups: buffered.reduce((sum, { count }) => sum + count, 0),
      formedBatches: view.leases.filter((until) => until === null || until <= leaseTime).length,
      leasedBatches: view.leases.filter((until) => until !== null && until > leaseTime).length,
      bound: Status.bound(view),
      stuck: [
        ...stuck,
        ...buffered.map(({ count, env_id, oldest, sequences }): TrajectoryApi.QueueSummary["stuck"][number] => ({
          envId: Rows.fromEnvColumn(env_id),
          environment: nameOf(Rows.fromEnvColumn(env_id)),
          sequences,
          count,
          reason: `waits to be combined to the group size ${view.environments[env_id]?.groupSize ?? "of its environment"}`,
          ageSeconds: ageSeconds(oldest)
        }))
      ]
    }
  }, Failure.orStoreError)
})
