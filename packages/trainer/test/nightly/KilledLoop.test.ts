/**
 * A closed loop that is killed while its engine changes weights in the middle of answers and guesses tokens; of a
 * mixture also where the experts that were passed at sampling are passed again.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Auth, Database, PgTrajectoryStore, TrajectoryService } from "@atropos/api"
import { Context, Effect, FileSystem, Layer, Option } from "effect"
import { FetchHttpClient, HttpServer } from "effect/http"
import type { KillPoint } from "../../../core/test/base/KillPoint.ts"
import * as ScriptProcess from "../../../core/test/base/ScriptProcess.ts"
import * as Checkpoints from "../../src/checkpoint/Checkpoints.ts"
import * as StateFile from "../../src/local/StateFile.ts"
import * as LoopModel from "./loopModel.ts"

const program = new URL("loopProcess.ts", import.meta.url)
const steps = 10

/**
 * One life of the loop for each, in this order; each counts from its own start. The step is that of the checkpoint
 * which it leaves. The first publish is of the weights that it begins with.
 */
const kills: { readonly [kind in LoopModel.Kind]: ReadonlyArray<readonly [point: KillPoint, savedStep: number]> } = {
  dense: [
    ["after rollout 3", 0],
    // Delivered, and in no cursor.
    ["after submit 2", 0],
    // Samplers have weights that no checkpoint has.
    ["after publish 4", 2],
    ["after save 2", 4],
    ["after ack 1", 6]
  ],
  mixture: [
    ["after update 1", 0],
    ["after publish 4", 2],
    ["after ack 1", 4]
  ]
}

/** Where the service of this file listens. */
class ServiceUrl extends Context.Service<ServiceUrl, string>()("@atropos/trainer/test/long/ServiceUrl") {}

const layerService = Layer.effect(ServiceUrl, HttpServer.addressFormattedWith(Effect.succeed)).pipe(
  Layer.provide(TrajectoryService.serve({ host: "127.0.0.1", port: 0 })),
  Layer.provide([PgTrajectoryStore.layer.pipe(Layer.provide(Database.layerPglite())), Auth.layerOpen])
)

/** The loop's process, until it dies at the point; without one until all steps are taken. */
const loop = Effect.fnUntraced(function* (kind: LoopModel.Kind, folder: string, point = "") {
  const { code, lines, signal } = yield* ScriptProcess.run(program, [yield* ServiceUrl, kind, folder, steps, point])
  assert.strictEqual(String(signal ?? code), point === "" ? "0" : "SIGKILL", `${point}: ${lines.join()}`)
  return lines
})

const newest = Effect.fnUntraced(function* (kind: LoopModel.Kind, folder: string) {
  const { layout } = yield* LoopModel.load(kind, `${folder}/model`)
  const { newest } = yield* Checkpoints.newest(folder, (checkpoint) =>
    Effect.result(
      Effect.mapError(
        StateFile.read(`${checkpoint.folder}/${checkpoint.state.weights.path}`, layout),
        ({ message }) => message
      )
    )
  )
  return Option.map(newest, ({ state }) => state)
})

layer(Layer.mergeAll(layerService, NodeServices.layer, FetchHttpClient.layer), { excludeTestServices: true })(
  "a loop that is killed",
  (it) => {
    it.effect.each(LoopModel.kinds)("at points of its work trains every batch once and loses none: %s", (kind) =>
      Effect.gen(function* () {
        const folder = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()
        for (const [point, savedStep] of kills[kind]) {
          yield* loop(kind, folder, point)
          // What came after it is done again.
          const saved = yield* newest(kind, folder)
          assert.strictEqual(Option.match(saved, { onNone: () => 0, onSome: ({ step }) => step }), savedStep, point)
        }
        const said = yield* loop(kind, folder)
        assert.strictEqual(said.at(-1), `step ${steps} ${steps}`)
        const state = Option.getOrThrow(yield* newest(kind, folder))
        assert.deepStrictEqual(
          state.consumed.map(({ step }) => step),
          Array.from({ length: steps }, (_, i) => i + 1)
        )
        assert.strictEqual(new Set(state.consumed.map(({ id }) => id)).size, steps)
        assert.deepStrictEqual([state.step, state.policyVersion], [steps, steps])
      })
    )
  }
)
