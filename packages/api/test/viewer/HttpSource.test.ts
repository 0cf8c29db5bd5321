import { assert, layer } from "@effect/vitest"
import { TrajectoryApi as Core, WireGroup } from "@atropos/core"
import { Deferred, Effect, Layer, Redacted, Schema } from "effect"
import * as Waits from "../../../core/test/base/Waits.ts"
import * as HttpSource from "../../viewer/src/source/HttpSource.ts"
import { type Source, SourceError } from "../../viewer/src/source/Source.ts"
import * as Token from "../../viewer/src/source/Token.ts"
import type * as Wire from "../../viewer/src/source/Wire.ts"
import * as SampleGroups from "../SampleGroups.ts"
import { call, layer as serviceLayer, ServiceUrl } from "../TestService.ts"
import * as TestStore from "../TestStore.ts"

const runSpec = (name: string) => ({
  name,
  batch_size: 4,
  max_token_length: 64,
  starting_step: 0,
  num_steps: 100,
  checkpoint_dir: "/c",
  save_checkpoint_interval: 5,
  wandb_group: "g",
  wandb_project: "p"
})

const environment = { desired_name: "add", weight: 1, group_size: 2, max_token_length: 64, min_batch_allocation: null }

const started = Effect.fnUntraced(function* (name: string) {
  yield* call("/v1/runs", { json: runSpec(name) })
  yield* call(`/v1/runs/${name}/batches/claim`, { json: { owner: "t", wait_seconds: 0, lease_seconds: 60 } })
  yield* call(`/v1/runs/${name}/environments`, { json: environment })
})

const submit = (run: string) =>
  call(`/v1/runs/${run}/groups`, {
    json: {
      key: crypto.randomUUID(),
      group: JSON.parse(WireGroup.encode({ ...SampleGroups.full, envId: 0 })) as unknown
    }
  })

const ask = <A>(question: (source: Source) => Promise<A>) =>
  Effect.flatMap(ServiceUrl, (url) => Effect.promise(() => question(HttpSource.make(url))))

const kindOf = (question: (source: Source) => Promise<unknown>) =>
  ask((source) =>
    question(source).then(
      () => "came",
      (cause: unknown) => (cause instanceof SourceError ? cause.kind : "other")
    )
  )

/** What the viewer takes for the wire's form is what the service's own definition says: by type, and by value. */
const agrees = <S extends Schema.Codec<unknown, unknown>>(schema: S, value: S["Encoded"]) =>
  Effect.asVoid(Schema.decodeUnknownEffect(schema)(value))

const open = serviceLayer().pipe(Layer.provideMerge(TestStore.layer))

layer(open, { excludeTestServices: true })("HttpSource", (it) => {
  it.effect("reads what the service answers, in the forms of its definition", () =>
    Effect.gen(function* () {
      yield* started("forms")
      yield* submit("forms")
      yield* call("/v1/runs/forms/pieces", { json: { pieces: { 5: "a", 7: "b" } } })
      yield* call("/v1/runs/forms/metrics", { json: { source: "trainer", step: 1, values: { loss: 0.5, kl: "NaN" } } })

      for (const run of yield* ask((source) => source.runs())) yield* agrees(Core.RunRow, { ...unread, ...run })
      // The preview comes with the index, a moment after the group.
      const browsing = ask((source) => source.browse("forms", { limit: 10 }))
      const page = yield* Waits.until("the index", browsing, ({ unindexed }) => unindexed === 0)
      yield* agrees(Core.RolloutPage, page)
      assert.deepStrictEqual([page.total, page.rows[0]?.preview, page.rows[0]?.environment], [1, "2 + 2?", "add_0"])
      yield* agrees(Core.Rollout, yield* ask((source) => source.rollout("forms", page.rows[0]!.id)))
      const { metrics } = yield* ask((source) => source.metrics("forms", {}))
      assert.deepStrictEqual(metrics[0]?.values, { loss: 0.5, kl: "NaN" })
      yield* Schema.decodeUnknownEffect(Schema.toCodecJson(Schema.Array(Core.MetricsRow)))(metrics)
      yield* agrees(Core.QueueSummary, yield* ask((source) => source.summary("forms")))
      for (const row of yield* ask((source) => source.environments("forms"))) yield* agrees(Core.EnvironmentRow, row)
      for (const row of yield* ask((source) => source.batches("forms"))) yield* agrees(Core.BatchRow, row)
      assert.deepStrictEqual(yield* ask((source) => source.environmentNames("forms")), ["add_0"])
      assert.deepStrictEqual(yield* ask((source) => source.pieces("forms", [5, 6, 5, 7])), { 5: "a", 7: "b" })
    })
  )

  it.effect("asks for many pieces in several requests", () =>
    Effect.gen(function* () {
      yield* started("many")
      const pieces = Object.fromEntries(Array.from({ length: 3000 }, (_, id) => [id, `t${id}`]))
      yield* call("/v1/runs/many/pieces", { json: { pieces } })
      assert.deepStrictEqual(yield* ask((source) => source.pieces("many", [...Array(4000).keys()])), pieces)
    })
  )

  it.effect("follows the queue and the metrics as they come", () =>
    Effect.gen(function* () {
      yield* started("live")
      const url = yield* ServiceUrl
      const source = HttpSource.make(url)
      const queued = yield* Deferred.make<number>()
      const losses = yield* Deferred.make<ReadonlyArray<Wire.MetricsRow>>()
      const stops = [
        source.watchSummary("live", {
          onEvent: ({ queued_groups }) =>
            queued_groups > 0 && Deferred.doneUnsafe(queued, Effect.succeed(queued_groups))
        }),
        source.watchMetrics("live", "0", {
          onEvent: (rows) => Deferred.doneUnsafe(losses, Effect.succeed(rows))
        })
      ]
      yield* Effect.addFinalizer(() => Effect.sync(() => stops.forEach((stop) => stop())))
      yield* submit("live")
      assert.strictEqual(yield* Deferred.await(queued), 1)
      yield* call("/v1/runs/live/metrics", { json: { source: "trainer", step: 3, values: { loss: 0.25 } } })
      const [row] = yield* Deferred.await(losses)
      assert.deepInclude(row, { source: "trainer", step: 3, values: { loss: 0.25 } })
    })
  )

  it.effect("says what kind of refusal it was, in the service's words", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* kindOf((source) => source.browse("nobody", {})), "not-found")
      assert.strictEqual(yield* kindOf((source) => source.browse("nobody", { text: "x".repeat(1001) })), "failed")
      const gone = HttpSource.make("http://127.0.0.1:9")
      const problem = yield* Effect.promise(() => gone.runs().catch((cause: unknown) => cause))
      assert.instanceOf(problem, SourceError)
      assert.strictEqual(problem.kind, "unreachable")
    })
  )
})

/** Fields of a run that the viewer does not read. */
const unread = {
  checkpoint_dir: "",
  save_checkpoint_interval: 0,
  wandb_group: "",
  wandb_project: ""
}

const guarded = serviceLayer(Redacted.make("reader:a-known-token")).pipe(Layer.provideMerge(TestStore.layer))

layer(guarded, { excludeTestServices: true })("HttpSource of a service with tokens", (it) => {
  it.effect("sends the token it was given, and says when one is needed", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* kindOf((source) => source.runs()), "unauthorized")
      Token.write("a-wrong-token")
      assert.strictEqual(yield* kindOf((source) => source.runs()), "unauthorized")
      Token.write("a-known-token")
      assert.deepStrictEqual(yield* ask((source) => source.runs()), [])
    })
  )
})
