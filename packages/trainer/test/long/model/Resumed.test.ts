/** A run on an architecture or an adapter of another kind: resumed, it is the same to the bit. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer, References, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import * as Ort from "../../../src/exec/Ort.ts"
import * as Model from "../../../src/model/Model.ts"
import * as Peft from "../../../src/model/Peft.ts"
import type { TrainableModel } from "../../../src/model/TrainableModel.ts"
import * as Architectures from "../../model/Architectures.ts"
import * as Toy from "../../run/ToyTraining.ts"

const steps = 4

const services = Layer.mergeAll(
  Ort.layer({ threads: 1 }),
  NodeServices.layer,
  FetchHttpClient.layer,
  Layer.succeed(References.MinimumLogLevel, "None")
)

layer(services, { excludeTestServices: true })("Trainer", (it) => {
  it.effect.each(["gemma2", "phi4-mini", "qwen3-moe", "gpt-oss", "qwen3-5", "adapter-dora", "adapter-saved"])(
    "goes on from a checkpoint as if it had not stopped: %s",
    (name) =>
      Effect.gen(function* () {
        const root = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()
        const { model: loaded, parameters } = yield* Architectures.load(Architectures.folder(name))
        const { adapter, config, layout } = loaded
        const model: TrainableModel = {
          name,
          policy: Model.policy(loaded),
          vocabSize: config.vocabSize,
          hiddenSize: config.hiddenSize,
          shape: config,
          maxPositions: config.maxPositions,
          initial: parameters,
          writeWeights: (folder, trained) => Peft.write(folder, { layout, adapter, parameters: trained, base: name })
        }
        /** Steps from where the folder's run has come to: the parameters then. */
        const train = Effect.fnUntraced(function* (folder: string, until: number) {
          const settings = Toy.settings(`${root}/${folder}`, { trainingSteps: until })
          const trainer = yield* Toy.trainer(settings, { model })
          const from = yield* trainer.step
          const batches = Array.from({ length: until - from }, (_, i) => Toy.batch(from + i))
          yield* Stream.runDrain(trainer.steps(Stream.fromIterable(batches)))
          return { from, parameters: yield* trainer.parameters }
        }, Effect.scoped)
        const whole = yield* train("whole", steps)
        yield* train("parts", steps / 2)
        const resumed = yield* train("parts", steps)
        assert.deepStrictEqual([whole.from, resumed.from], [0, steps / 2])
        assert.deepStrictEqual(resumed.parameters, whole.parameters)
        assert.notDeepEqual(whole.parameters, parameters)
        // What was written is what was trained.
        const written = yield* Peft.read(`${root}/whole/step_${steps}`, { adapter, layout })
        assert.deepStrictEqual(written, whole.parameters)
      }).pipe(Effect.scoped)
  )
})
