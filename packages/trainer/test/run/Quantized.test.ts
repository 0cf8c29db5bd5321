/** A run on frozen weights in 4 and 8 bits: resumed, it is the same to the bit. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { ConfigProvider, Effect, FileSystem, Layer, References, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import * as SharedOrt from "../exec/SharedOrt.ts"
import { Executor } from "../../src/exec/Executor.ts"
import * as Model from "../../src/model/Model.ts"
import * as PretrainedModel from "../../src/model/PretrainedModel.ts"
import * as QuantizedWeights from "../../src/model/QuantizedWeights.ts"
import * as TinyModel from "../../src/model/TinyModel.ts"
import * as LongRows from "./LongRows.ts"
import * as Toy from "./ToyTraining.ts"

const adapter = { r: 4, alpha: 8, rslora: false, targetModules: ["all-linear"] }
const steps = 4

const services = Layer.mergeAll(
  SharedOrt.layer,
  NodeServices.layer,
  FetchHttpClient.layer,
  Layer.succeed(References.MinimumLogLevel, "None")
)

layer(services, { excludeTestServices: true })("Trainer on rounded weights", (it) => {
  for (const quantize of QuantizedWeights.kinds) {
    /** Trains whole and in two parts, on these batches. */
    const resume = Effect.fnUntraced(function* ({
      batch,
      graph,
      settings
    }: Pick<typeof LongRows, "batch"> & Partial<Pick<typeof LongRows, "graph" | "settings">>) {
      const fs = yield* FileSystem.FileSystem
      const root = yield* fs.makeTempDirectoryScoped()
      const tiny = TinyModel.make({
        characters: "abcdefghijklmnopqrstuvwxyz0123456789",
        seed: 3,
        hiddenSize: 32,
        layers: 1,
        maxPositions: LongRows.longest
      })
      yield* tiny.write(`${root}/model`, tiny.initial)
      const load = Effect.provide(
        PretrainedModel.load(`${root}/model`, { trains: adapter, seed: 1, quantize }),
        ConfigProvider.layer(ConfigProvider.fromUnknown({ ATROPOS_CACHE_DIR: root }))
      )
      /** Steps from where the folder's run has come to: the parameters then. */
      const train = Effect.fnUntraced(function* (folder: string, until: number) {
        const own = Toy.settings(`${root}/${folder}`, { trainingSteps: until, ...settings })
        const trainer = yield* Toy.trainer(own, { model: Model.trainable(yield* load), ...(graph && { graph }) })
        const from = yield* trainer.step
        const batches = Array.from({ length: until - from }, (_, i) => batch(from + i))
        yield* Stream.runDrain(trainer.steps(Stream.fromIterable(batches)))
        return { from, parameters: yield* trainer.parameters }
      }, Effect.scoped)
      const whole = yield* train("whole", steps)
      yield* train("parts", steps / 2)
      const resumed = yield* train("parts", steps)
      assert.deepStrictEqual([whole.from, resumed.from], [0, steps / 2])
      assert.deepStrictEqual(resumed.parameters, whole.parameters)
      assert.notDeepEqual(whole.parameters, (yield* load).initial)
    }, Effect.scoped)

    it.effect(`goes on from a checkpoint as if it had not stopped: ${quantize}`, () => resume({ batch: Toy.batch }))

    it.effect(`does so on long rows, in blocks, chunks and pieces: ${quantize}`, () =>
      Effect.gen(function* () {
        const { executor, runs } = yield* LongRows.watched
        yield* Effect.provideService(resume(LongRows), Executor, executor)
        LongRows.check(runs, { attention: 1, dense: 1, head: "loop" })
      })
    )
  }
})
