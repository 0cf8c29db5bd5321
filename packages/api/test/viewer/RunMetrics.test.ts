import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as RunMetrics from "../../viewer/src/metrics/RunMetrics.ts"
import * as HttpSource from "../../viewer/src/source/HttpSource.ts"
import { call, layer as serviceLayer, ServiceUrl } from "../TestService.ts"
import * as TestStore from "../TestStore.ts"

const create = (name: string) =>
  call("/v1/runs", {
    json: {
      name,
      batch_size: 4,
      max_token_length: 64,
      starting_step: 0,
      num_steps: 100,
      checkpoint_dir: "",
      save_checkpoint_interval: 0,
      wandb_group: "",
      wandb_project: ""
    }
  })

const record = (run: string, step: number, loss: number) =>
  call(`/v1/runs/${run}/metrics`, { json: { source: "trainer", step, values: { loss } } })

const open = Effect.acquireRelease(
  Effect.map(ServiceUrl, (url) =>
    RunMetrics.make({ source: HttpSource.make(url), onUnauthorized: () => {}, onFrame: setImmediate })
  ),
  (metrics) => Effect.sync(metrics.close)
)

/** Waits until the runs are as they should be. */
const until = (
  metrics: RunMetrics.RunMetrics,
  isSo: (states: ReadonlyArray<RunMetrics.RunState>) => boolean
): Effect.Effect<ReadonlyArray<RunMetrics.RunState>> =>
  Effect.callback((resume) => {
    const look = () => {
      if (isSo(metrics.states())) resume(Effect.succeed(metrics.states()))
    }
    const unsubscribe = metrics.subscribe(look)
    look()
    return Effect.sync(unsubscribe)
  })

const losses = (state: RunMetrics.RunState | undefined) => [...(state?.table.points("trainer", "loss").values ?? [])]

const service = serviceLayer().pipe(Layer.provideMerge(TestStore.layer))

layer(service, { excludeTestServices: true })("RunMetrics", (it) => {
  it.effect("brings what was recorded, then every row that comes, and tells runs apart", () =>
    Effect.gen(function* () {
      for (const name of ["one", "two"]) yield* create(name)
      yield* record("one", 1, 3)
      yield* record("one", 2, 2)
      yield* record("two", 1, 9)
      const metrics = yield* open
      metrics.choose(["one", "two"])
      const [one, two] = yield* until(metrics, (states) => states.every(({ live }) => live === "live"))
      assert.deepStrictEqual([losses(one), losses(two)], [[3, 2], [9]])
      assert.deepStrictEqual([one!.tone, two!.tone, one!.phase, one!.loaded], [0, 1, "ready", 2])

      yield* record("one", 3, 1)
      yield* record("one", 1, 4)
      const [later] = yield* until(metrics, ([one]) => losses(one).length === 3)
      assert.include([3, 4], losses(later)[0])
      yield* until(metrics, ([one]) => losses(one)[0] === 4)
    })
  )

  it.effect("shows the newest run of a name alone, also where it began while somebody looked", () =>
    Effect.gen(function* () {
      yield* create("anew")
      for (const step of [1, 2, 3]) yield* record("anew", step, 9)
      const metrics = yield* open
      metrics.choose(["anew"])
      yield* until(metrics, ([run]) => run?.live === "live" && losses(run).length === 3)
      yield* call("/v1/runs/anew/reset", { method: "POST" })
      yield* create("anew")
      yield* record("anew", 1, 5)
      const [run] = yield* until(metrics, ([run]) => losses(run).length === 1)
      assert.deepStrictEqual(losses(run), [5])
    })
  )

  it.effect("keeps its shape while values come in, and has another one for a new metric", () =>
    Effect.gen(function* () {
      yield* create("shape")
      yield* record("shape", 1, 3)
      const metrics = yield* open
      metrics.choose(["shape"])
      yield* until(metrics, ([run]) => run?.live === "live")
      const shape = metrics.shape()
      yield* record("shape", 2, 3)
      yield* until(metrics, ([run]) => losses(run).length === 2)
      assert.strictEqual(metrics.shape(), shape)
      yield* call("/v1/runs/shape/metrics", { json: { source: "sorting", step: 2, values: { score: 1 } } })
      yield* until(metrics, ([run]) => run?.table.names().includes("score") === true)
      assert.notStrictEqual(metrics.shape(), shape)
    })
  )

  it.effect("tells why a run cannot be loaded, leaves the others alone, and tries again when asked", () =>
    Effect.gen(function* () {
      yield* create("here")
      const metrics = yield* open
      metrics.choose(["here", "missing"])
      const [here, missing] = yield* until(metrics, (states) => states.every(({ phase }) => phase !== "loading"))
      assert.deepStrictEqual([here!.phase, missing!.phase, missing!.error!.kind], ["ready", "failed", "not-found"])

      yield* create("missing")
      yield* record("missing", 1, 5)
      metrics.retry("missing")
      const [, found] = yield* until(metrics, ([, missing]) => missing?.phase === "ready")
      assert.deepStrictEqual([losses(found), found!.error], [[5], null])
    })
  )

  it.effect("follows no run that was taken out, whose colour the next one gets, while others keep theirs", () =>
    Effect.gen(function* () {
      for (const name of ["stays", "leaves"]) yield* create(name)
      const metrics = yield* open
      metrics.choose(["leaves", "stays"])
      yield* until(metrics, (states) => states.every(({ live }) => live === "live"))
      metrics.choose(["stays"])
      yield* record("leaves", 1, 1)
      yield* record("stays", 1, 2)
      const states = yield* until(metrics, ([run]) => losses(run).length > 0)
      assert.deepStrictEqual(
        states.map((run) => [run.name, run.tone, losses(run)]),
        [["stays", 1, [2]]]
      )
      yield* create("comes")
      metrics.choose(["stays", "comes"])
      const toned = yield* until(metrics, (runs) => runs.length === 2)
      assert.deepStrictEqual(
        toned.map(({ name, tone }) => [name, tone]),
        [
          ["stays", 1],
          ["comes", 0]
        ]
      )
    })
  )
})
