/**
 * A closed loop that is killed while its engine changes weights in the middle of answers and guesses tokens; of a
 * mixture also where the experts that were passed at sampling are passed again.
 */
import { NodeServices } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Auth, Database, PgTrajectoryStore, TrajectoryService } from "@atropos/api"
import { Context, Effect, FileSystem, Layer, Option } from "effect"
import { FetchHttpClient, HttpServer } from "effect/http"
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import * as Checkpoints from "../../../src/checkpoint/Checkpoints.ts"
import * as StateFile from "../../../src/local/StateFile.ts"
import { uniforms } from "../../loss/ToyPolicy.ts"
import * as LoopModel from "./loopModel.ts"

const program = fileURLToPath(new URL("loopProcess.ts", import.meta.url))
const steps = 16

/** Where the service of this file listens. */
class ServiceUrl extends Context.Service<ServiceUrl, string>()("@atropos/trainer/test/long/ServiceUrl") {}

const layerService = Layer.effect(ServiceUrl, HttpServer.addressFormattedWith(Effect.succeed)).pipe(
  Layer.provide(TrajectoryService.serve({ host: "127.0.0.1", port: 0 })),
  Layer.provide([PgTrajectoryStore.layer.pipe(Layer.provide(Database.layerPglite())), Auth.layerOpen])
)

interface Ended {
  readonly code: number | null
  readonly lines: ReadonlyArray<string>
}

/** The loop's process, killed so many milliseconds after so many lines; not at all without a moment. */
const loop = Effect.fnUntraced(function* (
  kind: LoopModel.Kind,
  folder: string,
  kill?: { readonly lines: number; readonly millis: number }
) {
  const url = yield* ServiceUrl
  return yield* Effect.callback<Ended>((resume) => {
    const given = [url, kind, folder, String(steps)]
    const child = spawn(process.execPath, ["--conditions=atropos-src", program, ...given], {
      stdio: ["ignore", "pipe", "inherit"]
    })
    const lines: Array<string> = []
    createInterface(child.stdout).on("line", (line) => {
      lines.push(line)
      if (lines.length === kill?.lines) setTimeout(() => child.kill("SIGKILL"), kill.millis)
    })
    child.once("close", (code) => resume(Effect.succeed({ code, lines })))
    return Effect.sync(() => child.kill("SIGKILL"))
  })
})

layer(Layer.mergeAll(layerService, NodeServices.layer, FetchHttpClient.layer), { excludeTestServices: true })(
  "a loop that is killed",
  (it) => {
    it.effect.each(LoopModel.kinds)("three times trains every batch once and loses none: %s", (kind) =>
      Effect.gen(function* () {
        const folder = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()
        // After an odd number of steps, of which the last is in no checkpoint.
        const uniform = uniforms(7)
        const said: Array<string> = []
        for (let round = 0; round < 3; round++) {
          const moment = { lines: 2 + 2 * Math.floor(uniform() * 2), millis: Math.floor(uniform() * 8) }
          const { code, lines } = yield* loop(kind, folder, moment)
          assert.isNull(code, `round ${round} was to be killed, and ended by itself: ${lines.join()}`)
          said.push(...lines.filter((line) => line.startsWith("step")))
        }
        const { code, lines } = yield* loop(kind, folder)
        assert.strictEqual(code, 0)
        said.push(...lines.filter((line) => line.startsWith("step")))
        assert.strictEqual(said.at(-1), `step ${steps} ${steps}`)
        // Steps were lost and done again, or this would test nothing.
        assert.isAbove(said.length, steps)
        const { layout } = yield* LoopModel.load(kind, `${folder}/model`)
        const { newest } = yield* Checkpoints.newest(folder, (checkpoint) =>
          Effect.result(
            Effect.mapError(
              StateFile.read(`${checkpoint.folder}/${checkpoint.state.weights.path}`, layout),
              ({ message }) => message
            )
          )
        )
        const { state } = Option.getOrThrow(newest)
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
