/**
 * Writes and reads the logprobs trainers computed of their batches. A batch has one record: the last sent by the
 * trainer that held or acknowledged it. Its bytes count towards those of the batch, so that retention stays bounded.
 */
import { PackedLogprobs, type TrainedLogprobs, TrajectoryApiError } from "@atropos/core"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { TrajectoryStoreShape } from "../../store/TrajectoryStore.ts"
import * as Failure from "../base/Failure.ts"
import * as Rows from "../base/Rows.ts"
import * as Leases from "./Leases.ts"

export interface LogprobRecords extends Pick<TrajectoryStoreShape, "recordLogprobs"> {
  /** The record of a group with this many sequences; undefined if none. */
  readonly ofGroup: (
    id: bigint,
    sequences: number
  ) => Effect.Effect<TrainedLogprobs.TrainedLogprobs | undefined, SqlError>
}

const sum = (rows: ReadonlyArray<{ readonly bytes: number }>) => rows.reduce((total, { bytes }) => total + bytes, 0)

export const make: Effect.Effect<LogprobRecords, never, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const recordLogprobs: LogprobRecords["recordLogprobs"] = Effect.fn("PgTrajectoryStore.recordLogprobs")(function* (
    run,
    id,
    { leaseToken, policyVersion, rows }
  ) {
    const lost = new TrajectoryApiError.LeaseLost({
      message: `batch ${id} of run ${run} does not belong to this lease`
    })
    if (!Leases.isId(id) || !Leases.isToken(leaseToken)) return yield* lost
    const starts: Array<number> = []
    let bytes = 0
    for (const { logprobs } of rows) {
      // SQL positions count from 1.
      starts.push(bytes + 1)
      bytes += logprobs.byteLength
    }
    const whole = new Uint8Array(bytes)
    for (const [i, { logprobs }] of rows.entries()) whole.set(PackedLogprobs.bytesOf(logprobs), starts[i]! - 1)
    const column = (of: (row: (typeof rows)[number], i: number) => number) => Rows.array("int4", rows.map(of))
    yield* Failure.inTransaction(
      sql,
      Effect.gen(function* () {
        const held = yield* sql`
          select batch.id from batch join run on run.id = batch.run_id
          where batch.id = ${id}::bigint and run.name = ${run} and lease_token = ${leaseToken}::uuid
            and (lease_until is not null or acked_at is not null)
          for update of batch`
        if (held.length === 0) return yield* lost
        const gone = yield* sql<{ bytes: number }>`
          delete from trained_logprob using grp where grp.id = group_id and grp.batch_id = ${id}::bigint
          returning octet_length(logprobs) as bytes`
        // Only what fits the stored sequences: positions outside the batch are ignored.
        const kept = yield* sql<{ bytes: number }>`
          insert into trained_logprob (group_id, sequence, policy_version, first, logprobs)
          select member.id, given.sequence, ${policyVersion}, given.first,
            substring(${whole}::bytea from given.start for given.bytes)
          from unnest(${column(({ group }) => group)}::int[], ${column(({ sequence }) => sequence)}::int[],
            ${column(({ from }) => from)}::int[], ${column((_, i) => starts[i]!)}::int[],
            ${column(({ logprobs }) => logprobs.byteLength)}::int[]
          ) as given (place, sequence, first, start, bytes)
          join (
            select id, sequences, row_number() over (order by place) - 1 as place from grp
            where batch_id = ${id}::bigint
          ) as member on member.place = given.place and given.sequence < member.sequences
          returning octet_length(logprobs) as bytes`
        const more = sum(kept) - sum(gone)
        if (more !== 0) yield* sql`update batch set bytes = bytes + ${more} where id = ${id}::bigint`
      })
    )
  }, Failure.orStoreError)

  const ofGroup: LogprobRecords["ofGroup"] = Effect.fnUntraced(function* (id, sequences) {
    const recorded = yield* sql<{ sequence: number; policy_version: bigint; first: number; logprobs: Uint8Array }>`
      select sequence, policy_version, first, logprobs from trained_logprob
      where group_id = ${id} and sequence < ${sequences} order by sequence`
    const [one] = recorded
    if (one === undefined) return undefined
    const rows: Array<TrainedLogprobs.TrainedRow | null> = Array.from({ length: sequences }, () => null)
    for (const { first, logprobs, sequence } of recorded) {
      rows[sequence] = { from: first, logprobs: PackedLogprobs.floatsOf(logprobs) }
    }
    return { policyVersion: Rows.toInt(one.policy_version), rows }
  })

  return { recordLogprobs, ofGroup }
})
