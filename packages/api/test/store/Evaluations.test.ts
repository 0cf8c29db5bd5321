/** Evaluations: recorded once, with their samples, and read back. */
import { assert, layer as layerOf } from "@effect/vitest"
import type { TrajectoryApi } from "@atropos/core"
import { Effect, Layer, Option } from "effect"
import { randomBytes, randomUUID } from "node:crypto"
import * as Evaluations from "../../src/store/EvaluationStore.ts"
import * as Database from "../../src/database/Database.ts"
import * as PgTrajectoryStore from "../../src/postgres/PgTrajectoryStore.ts"
import * as TestPostgres from "../TestPostgres.ts"
import { runName } from "./StoreValues.ts"

const spec = (more: Partial<TrajectoryApi.EvaluationSpec> = {}): TrajectoryApi.EvaluationSpec => ({
  key: randomUUID(),
  run: null,
  name: "gsm8k",
  model: "m",
  step: 4,
  seconds: 2.5,
  figures: { "eval/percent_correct": 0.5 },
  samples: 2,
  ...more
})

const samples = [
  { item: 0, label: "1 + 1", id: "a", gold: ["2"], parsed: "2", score: 1, rewards: { correct: 1 }, correct: true },
  { item: 1, label: "1 + 2", id: "b", gold: ["3"], parsed: null, score: 0, correct: false, completion: "no\0idea" }
]

const both = Effect.all([Evaluations.EvaluationStore, Evaluations.EvaluationReader])

const sampleBytes = 4000

const suite = (name: string, database: typeof TestPostgres.layer | ReturnType<typeof Database.layerPglite>) =>
  layerOf(
    PgTrajectoryStore.layer.pipe(
      Layer.provide(
        Layer.succeed(PgTrajectoryStore.Settings, {
          ...PgTrajectoryStore.defaultSettings,
          retainedSampleBytes: sampleBytes
        })
      ),
      Layer.provide(database)
    )
  )(name, (it) => {
    it.effect("keeps an evaluation once by its key, with the samples that came", () =>
      Effect.gen(function* () {
        const [store, reader] = yield* both
        const one = spec({ run: runName() })
        const row = yield* store.record(one)
        assert.deepStrictEqual(yield* store.record(one), row)
        assert.strictEqual(row.stored, 0)
        yield* store.recordSamples(row.id, 0, samples)
        yield* store.recordSamples(row.id, 1, [{ ...samples[1], score: 9 }])
        const { key: _, ...told } = one
        assert.deepStrictEqual(Option.getOrThrow(yield* reader.evaluation(row.id)), { ...row, ...told, stored: 2 })
        const first = yield* reader.samples(row.id, { from: 0, limit: 1 })
        assert.deepStrictEqual(
          [first.samples.map(({ gold, item, number, parsed }) => [number, item, gold, parsed]), first.next],
          [[[0, "a", ["2"], "2"]], 1]
        )
        const second = yield* reader.samples(row.id, { from: 1, limit: 1 })
        assert.deepStrictEqual([second.samples[0]?.parsed, second.samples[0]?.score, second.next], [null, 0, null])
        assert.deepStrictEqual(Option.getOrThrow(yield* reader.sample(row.id, 1)), samples[1])
        assert.isTrue(Option.isNone(yield* reader.sample(row.id, 2)))
      })
    )

    it.effect("lists evaluations newest first, page by page, of a run or of all", () =>
      Effect.gen(function* () {
        const [store, reader] = yield* both
        const run = runName()
        const ids: Array<string> = []
        for (const step of [0, 5, 9]) ids.unshift((yield* store.record(spec({ run, step }))).id)
        const other = yield* store.record(spec({ step: null }))
        const page = yield* reader.evaluations({ run, limit: 2 })
        assert.deepStrictEqual([page.evaluations.map(({ step }) => step), page.next], [[9, 5], ids[1]])
        const rest = yield* reader.evaluations({ run, limit: 2, before: ids[1]! })
        assert.deepStrictEqual([rest.evaluations.map(({ step }) => step), rest.next], [[0], null])
        const all = yield* reader.evaluations({ limit: 1 })
        assert.deepStrictEqual(all.evaluations, [other])
      })
    )

    it.effect("knows no samples of an evaluation that is not there", () =>
      Effect.gen(function* () {
        const [store, reader] = yield* both
        const unknown = "999999999"
        assert.isTrue(Option.isNone(yield* reader.evaluation(unknown)))
        assert.strictEqual(
          (yield* Effect.flip(reader.samples(unknown, { from: 0, limit: 1 })))._tag,
          "UnknownEvaluation"
        )
        assert.strictEqual((yield* Effect.flip(store.recordSamples(unknown, 0, samples)))._tag, "UnknownEvaluation")
      })
    )

    it.effect("drops samples of the oldest evaluations beyond the bound, and keeps their figures", () =>
      Effect.gen(function* () {
        const [store, reader] = yield* both
        const run = runName()
        const large = { ...samples[0], completion: randomBytes(sampleBytes).toString("hex") }
        for (const step of [1, 2]) {
          const { id } = yield* store.record(spec({ run, step, samples: 1 }))
          yield* store.recordSamples(id, 0, [large])
        }
        const { evaluations } = yield* reader.evaluations({ run, limit: 9 })
        assert.deepStrictEqual(
          evaluations.map(({ figures, step, stored }) => [step, stored, figures["eval/percent_correct"]]),
          [
            [2, 1, 0.5],
            [1, 0, 0.5]
          ]
        )
      })
    )
  })

suite("evaluations on PGlite", Database.layerPglite())

// Without a server here, the embedded database is tested alone.
for (const database of TestPostgres.serverUrl === undefined ? [] : [TestPostgres.layer]) {
  suite("evaluations on Postgres", database)
}
