import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Trajectory } from "@atropos/core"
import { Effect, FileSystem, Layer, Stream } from "effect"
import * as OrtWorker from "../../src/exec/OrtWorker.ts"
import * as Model from "../../src/model/Model.ts"
import * as Peft from "../../src/model/Peft.ts"
import * as TinyModel from "../../src/model/TinyModel.ts"
import * as Toy from "./ToyTraining.ts"

const whole = TinyModel.make({ characters: "abcdefgh=", seed: 3, hiddenSize: 32, layers: 1 })
const adapter = { r: 4, alpha: 8, rslora: false, targetModules: ["q_proj", "v_proj", "down_proj", "up_proj"] }
// Fresh embeddings are so small that no adapter could make the outputs differ much: these are as large as trained ones.
const [embeddings] = whole.layout.slots
const base = whole.initial.map((value, i) => (i < embeddings!.size ? 25 * value : value))
const adapted = TinyModel.withAdapter(whole, base, adapter, 5)

/** One rewarded answer among three, each to the same prompt. */
const answers = [Int32Array.of(1, 2, 3, 4, 5, 6), Int32Array.of(1, 2, 3, 6, 5, 4), Int32Array.of(1, 2, 3, 7, 7, 7)]
const group = {
  tokens: answers,
  masks: answers.map(({ length }) => Trajectory.maskFrom(3, length)),
  scores: Float64Array.of(1, 0, 0)
}
const steps = 60
const batches = Stream.fromIterable(
  Array.from({ length: steps }, (_, step) =>
    Toy.batch(step, [
      // The last one only looks at the rewarded answer.
      step < steps - 1
        ? group
        : { tokens: answers.slice(0, 1), masks: group.masks.slice(0, 1), scores: Float64Array.of(1) }
    ])
  )
)

const train = Effect.fnUntraced(function* (model: Model.Model, lr: number) {
  const folder = yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())
  const trainer = yield* Toy.trainer(
    Toy.settings(folder, { lr, trainingSteps: steps, checkpointInterval: 0 }, { baseline: "none" }),
    { model: Model.trainable(model) }
  )
  const metrics = yield* Stream.runCollect(trainer.steps(batches))
  return { checkpoint: `${folder}/step_${steps}`, metrics, parameters: yield* trainer.parameters }
})

layer(Layer.mergeAll(OrtWorker.layer({ threads: 1 }), NodeServices.layer), { excludeTestServices: true })(
  "Trainer of a decoder",
  (it) => {
    it.effect("learns the rewarded answer with an adapter, and saves it as PEFT has it", () =>
      Effect.gen(function* () {
        const { checkpoint, metrics, parameters } = yield* train(adapted, 0.03)
        assert.isBelow(metrics[0]!.logprobMean!, Math.log(0.3))
        assert.isAbove(metrics.at(-1)!.logprobMean!, Math.log(0.9))
        assert.deepStrictEqual(yield* Peft.read(checkpoint, { adapter, layout: adapted.layout }), parameters)
      })
    )

    it.effect("learns the rewarded answer with all weights, and saves a model's folder", () =>
      Effect.gen(function* () {
        const { checkpoint, metrics } = yield* train(whole, 0.01)
        assert.isAbove(metrics.at(-1)!.logprobMean!, Math.log(0.9))
        const names = yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.readDirectory(checkpoint))
        assert.includeMembers(names, ["config.json", "model.safetensors", "trainer.json", "trainer_state.safetensors"])
      })
    )
  }
)
