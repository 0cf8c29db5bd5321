/** Deleted runs: refused while somebody is at work, gone for readers at once, and removed with all they left. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { randomUUID } from "node:crypto"
import * as Database from "../../src/database/Database.ts"
import * as PgTrajectoryStore from "../../src/postgres/PgTrajectoryStore.ts"
import { EvaluationReader, EvaluationStore } from "../../src/store/EvaluationStore.ts"
import { NoteStore } from "../../src/store/NoteStore.ts"
import { RolloutReader } from "../../src/store/RolloutReader.ts"
import { TrajectoryStore } from "../../src/store/TrajectoryStore.ts"
import { environment, spec, submission, trainer } from "../store/StoreValues.ts"
import * as TestPostgres from "../TestPostgres.ts"

const database = TestPostgres.serverUrl === undefined ? Database.layerPglite() : TestPostgres.layer

const evaluation = (run: string) => ({
  key: randomUUID(),
  run,
  name: "letters",
  model: "policy",
  step: 4,
  seconds: 1,
  figures: {},
  samples: 0
})

const refusal = (run: string) =>
  Effect.gen(function* () {
    const error = yield* Effect.flip((yield* TrajectoryStore).deleteRun(run))
    assert.strictEqual(error._tag, "RunInUse")
    return error.message
  })

layer(PgTrajectoryStore.layer.pipe(Layer.provideMerge(database)))("deleted runs", (it) => {
  /** A started run with a consumed group, one that waits, a note, metrics, a state, an evaluation. */
  const full = Effect.fnUntraced(function* (run: string) {
    const store = yield* TrajectoryStore
    const reader = yield* RolloutReader
    yield* store.registerRun(spec(run))
    yield* store.start(run)
    const sent = [submission(8, null, "consumed"), submission(8, null, "waits")]
    yield* store.submit(run, sent)
    const batch = Option.getOrThrow(yield* store.claim(run, trainer))
    const [row] = (yield* reader.rollouts(run, { limit: 1 })).rows
    const note = { rollout: null, bookmarked: true, labels: [], text: "" }
    yield* (yield* NoteStore).write(run, row!.id, note)
    yield* store.recordMetrics(run, { source: "trainer", step: 4, values: { loss: 1 } })
    yield* store.recordPieces(run, new Map([[1, "a"]]))
    yield* store.saveState(run, "letters", { step: 4, value: 1 })
    yield* (yield* EvaluationStore).record(evaluation(run))
    return { store, reader, batch, sent }
  })

  it.effect("are only those that nobody is at work on, unless they were reset", () =>
    Effect.gen(function* () {
      const { batch, store } = yield* full("busy")
      assert.match(
        yield* refusal("busy"),
        /^run busy is in use \(trainer has leased a batch of it\): .*\/v1\/runs\/busy\/reset/
      )
      yield* store.ack(batch)
      assert.match(yield* refusal("busy"), /trainer recorded metrics 0 s ago/)
      yield* store.registerEnvironment("busy", environment("letters"))
      yield* TestClock.adjust("50 seconds")
      yield* store.status("busy", 0)
      yield* TestClock.adjust("30 seconds")
      assert.match(yield* refusal("busy"), /its environment letters_0 was heard from 30 s ago/)
      yield* TestClock.adjust("31 seconds")
      yield* store.deleteRun("busy")
      const unknown = yield* Effect.flip(store.deleteRun("busy"))
      assert.deepInclude(unknown, { _tag: "UnknownRun", run: "busy" })
      yield* full("again")
      yield* store.reset("again")
      yield* store.deleteRun("again")
    })
  )

  it.effect("are gone at once, with nothing of another run; their name begins anew", () =>
    Effect.gen(function* () {
      const { batch, reader, store } = yield* full("gone")
      const other = yield* full("stays")
      yield* store.reset("gone")
      // Of the same name, and without a trainer.
      yield* store.submit("gone", [submission(4, null, "early")])
      yield* store.deleteRun("gone")
      const names = Effect.map(reader.runs, (runs) => runs.map(({ name }) => name))
      assert.notInclude(yield* names, "gone")
      assert.include(yield* names, "stays")
      assert.strictEqual((yield* Effect.flip(reader.rollouts("gone", { limit: 1 })))._tag, "UnknownRun")
      assert.isTrue(Option.isNone(yield* store.latest("gone")))
      assert.isTrue(Option.isNone(yield* store.loadState("gone", "letters")))
      assert.strictEqual((yield* Effect.flip(store.ack(batch)))._tag, "LeaseLost")
      const evaluations = yield* EvaluationReader
      const recorded = (run: string) =>
        Effect.map(evaluations.evaluations({ run, limit: 9 }), (page) => page.evaluations)
      assert.deepStrictEqual(yield* recorded("gone"), [])
      assert.lengthOf(yield* recorded("stays"), 1)
      assert.strictEqual((yield* reader.rollouts("stays", { limit: 9 })).total, 2)
      assert.isTrue(Option.isSome(yield* store.loadState("stays", "letters")))
      yield* store.ack(other.batch)
      assert.strictEqual((yield* store.registerRun(spec("gone"))).currentStep, 3)
      assert.strictEqual((yield* reader.rollouts("gone", { limit: 1 })).total, 0)
    })
  )

  it.effect("leave no row behind, and their keys are no other run's", () =>
    Effect.gen(function* () {
      const { sent, store } = yield* full("swept")
      const sql = yield* SqlClient.SqlClient
      const [run] = yield* sql<{ id: number }>`select id from run where name = 'swept'`
      yield* store.registerEnvironment("swept", environment("letters"))
      yield* store.reset("swept")
      yield* store.deleteRun("swept")
      const left = Effect.gen(function* () {
        const found: Array<string> = []
        for (const table of ["grp", "note", "metric", "piece", "env", "env_report", "batch", "queued"]) {
          const rows = yield* sql`select from ${sql(table)} where run_id = ${run!.id}`
          if (rows.length > 0) found.push(table)
        }
        return [...found, ...((yield* sql`select from run where id = ${run!.id}`).length > 0 ? ["run"] : [])]
      })
      assert.deepStrictEqual(yield* left, ["grp", "note", "metric", "piece", "env", "batch", "run"])
      yield* TestClock.adjust("5 seconds").pipe(
        Effect.andThen(left),
        Effect.repeat({ until: ({ length }) => length === 0 })
      )
      yield* store.registerRun(spec("later"))
      assert.deepStrictEqual(
        yield* store.submit("later", sent),
        sent.map(() => ({ status: "received" }))
      )
    })
  )
})
