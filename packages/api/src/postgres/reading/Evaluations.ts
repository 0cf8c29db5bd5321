/** Reads and records evaluations: a head and its samples, each compressed next to its list columns. */
import type { TrajectoryApi } from "@atropos/core"
import * as SampleHead from "@atropos/core/evaluation/SampleHead"
import { Clock, Effect, Option } from "effect"
import { SqlClient } from "effect/sql"
import {
  type EvaluationReaderShape,
  type EvaluationStoreShape,
  UnknownEvaluation
} from "../../store/EvaluationStore.ts"
import * as Codec from "../base/Codec.ts"
import * as Failure from "../base/Failure.ts"
import * as Rows from "../base/Rows.ts"
import type { Settings } from "../base/Settings.ts"

interface EvaluationRead {
  readonly id: bigint
  readonly run_name: string | null
  readonly name: string
  readonly model: string
  readonly step: bigint | null
  readonly seconds: number
  readonly figures: { readonly [name: string]: number }
  readonly samples: number
  readonly recorded_at: Date
  readonly stored: number
}

const toRow = ({ id, recorded_at, run_name: run, step, ...row }: EvaluationRead): TrajectoryApi.EvaluationRow => ({
  ...row,
  id: String(id),
  run,
  step: step === null ? null : Rows.toInt(step),
  at: recorded_at.getTime()
})

/** Replaces NUL, which Postgres text cannot hold. */
const storable = (text: string): string => text.replaceAll("\0", "\u2400")

export const make = Effect.fnUntraced(function* ({
  retainedSampleBytes
}: Settings): Effect.fn.Return<EvaluationReaderShape & EvaluationStoreShape, never, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient

  const columns = sql.literal(`id, run_name, name, model, step, seconds, figures, samples, recorded_at,
    (select count(*)::int from evaluation_sample where evaluation_id = evaluation.id) as stored`)

  const evaluations: EvaluationReaderShape["evaluations"] = Effect.fn("EvaluationReader.evaluations")(function* ({
    before,
    limit,
    run
  }) {
    const rows = yield* sql<EvaluationRead>`
        select ${columns} from evaluation
        where ${run === undefined ? sql`true` : sql`run_name = ${run}`}
          and ${before === undefined ? sql`true` : sql`id < ${before}::bigint`}
        order by id desc limit ${limit + 1}`
    const page = rows.slice(0, limit).map(toRow)
    return { evaluations: page, next: rows.length > limit ? (page.at(-1)?.id ?? null) : null }
  }, Failure.orStoreError)

  const evaluation: EvaluationReaderShape["evaluation"] = Effect.fn("EvaluationReader.evaluation")(function* (id) {
    const [row] = yield* sql<EvaluationRead>`select ${columns} from evaluation where id = ${id}::bigint`
    return Option.map(Option.fromNullishOr(row), toRow)
  }, Failure.orStoreError)

  const known = Effect.fnUntraced(function* (id: string) {
    const rows = yield* sql`select id from evaluation where id = ${id}::bigint`
    if (rows.length === 0) return yield* new UnknownEvaluation({ id })
  })

  const samples: EvaluationReaderShape["samples"] = Effect.fn("EvaluationReader.samples")(function* (
    id,
    { from, limit }
  ) {
    yield* known(id)
    const rows = yield* sql<{ number: number; head: SampleHead.SampleHead }>`
        select number, head from evaluation_sample
        where evaluation_id = ${id}::bigint and number >= ${from} order by number limit ${limit + 1}`
    return {
      samples: rows.slice(0, limit).map(({ head, number }) => ({ number, ...head })),
      next: rows.length > limit ? (rows[limit]?.number ?? null) : null
    }
  }, Failure.orStoreError)

  const sample: EvaluationReaderShape["sample"] = Effect.fn("EvaluationReader.sample")(function* (id, number) {
    const [row] = yield* sql<{ encoding: number; payload: Uint8Array }>`
      select encoding, payload from evaluation_sample where evaluation_id = ${id}::bigint and number = ${number}`
    if (row === undefined) return Option.none()
    const { bytes } = yield* Codec.decode({ encoding: row.encoding, bytes: row.payload })
    return Option.some(JSON.parse(new TextDecoder().decode(bytes)) as unknown)
  }, Failure.orStoreError)

  const record: EvaluationStoreShape["record"] = Effect.fn("EvaluationStore.record")(function* (spec) {
    const now = new Date(yield* Clock.currentTimeMillis)
    // A no-op update, which returns the existing row.
    const [row] = yield* sql<EvaluationRead>`
      insert into evaluation (key, run_name, name, model, step, seconds, figures, samples, recorded_at)
      values (${spec.key}::uuid, ${spec.run}::text, ${storable(spec.name)}, ${storable(spec.model)}, ${spec.step}::bigint,
        ${spec.seconds}, ${JSON.stringify(spec.figures)}::json, ${spec.samples}, ${now})
      on conflict (key) do update set key = excluded.key
      returning ${columns}`
    return toRow(row!)
  }, Failure.orStoreError)

  const recordSamples: EvaluationStoreShape["recordSamples"] = Effect.fn("EvaluationStore.recordSamples")(function* (
    id,
    from,
    all
  ) {
    yield* known(id)
    const rows = yield* Effect.forEach(
      all,
      (one, index) =>
        Effect.map(
          Codec.encode({ format: "json", bytes: new TextEncoder().encode(JSON.stringify(one)) }),
          ({ bytes, encoding }) => ({ number: from + index, head: SampleHead.of(one), encoding, payload: bytes })
        ),
      { concurrency: 4 }
    )
    yield* sql`
        insert into evaluation_sample (evaluation_id, number, head, encoding, payload)
        select ${id}::bigint, * from unnest(
          ${Rows.array(
            "int4",
            rows.map(({ number }) => number)
          )}::int[],
          ${Rows.array(
            "text",
            rows.map(({ head }) => JSON.stringify(head))
          )}::json[],
          ${Rows.array(
            "int2",
            rows.map(({ encoding }) => encoding)
          )}::smallint[],
          ${Rows.array(
            "bytea",
            rows.map(({ payload }) => payload)
          )}::bytea[]
        ) on conflict do nothing`
    // Samples of the newest evaluation are kept regardless of size.
    yield* sql`
        delete from evaluation_sample using (
          select evaluation_id, sum(sum(octet_length(payload))) over (order by evaluation_id desc) as newer
          from evaluation_sample group by evaluation_id
        ) as kept
        where kept.evaluation_id = evaluation_sample.evaluation_id and kept.evaluation_id < ${id}::bigint
          and kept.newer > ${retainedSampleBytes}::bigint`
  }, Failure.orStoreError)

  return { evaluations, evaluation, samples, sample, record, recordSamples }
})
