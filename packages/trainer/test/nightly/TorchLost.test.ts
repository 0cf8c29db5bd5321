/** A trainer whose PyTorch process is killed returns to its last checkpoint, and ends with the bits of one it kept. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { TrajectoryClient } from "@atropos/core"
import { Effect, FileSystem, Layer, Option, Stream } from "effect"
import { LearnerEngine } from "../../src/learn/LearnerEngine.ts"
import * as ServiceTraining from "../../src/run/ServiceTraining.ts"
import * as Trainer from "../../src/run/Trainer.ts"
import * as TorchEngine from "../../src/torch/TorchEngine.ts"
import * as SharedOrt from "../exec/SharedOrt.ts"
import * as Toy from "../run/ToyTraining.ts"
import * as Torch from "../torch/Torch.ts"

const steps = 7

/** The files of the last checkpoint, and how many gradients were computed; `killed`: the gradient that it dies in. */
const run = Effect.fnUntraced(function* (killed: number | undefined) {
  const fs = yield* FileSystem.FileSystem
  const folder = yield* fs.makeTempDirectoryScoped()
  const client = yield* Toy.serviceWith(steps + 1)
  const process = Torch.processOf()
  const child = yield* TorchEngine.child(process)
  const engine = yield* TorchEngine.make(Torch.optionsOf(process), child)
  let gradients = 0
  const dying: LearnerEngine["Service"] = {
    ...engine,
    load: (options) =>
      Effect.map(engine.load(options), (learner) => ({
        ...learner,
        forwardBackward: (batch, onLogprobs) =>
          Effect.suspend(() =>
            ++gradients === killed
              ? Effect.raceFirst(
                  learner.forwardBackward(batch, onLogprobs),
                  Effect.andThen(
                    Effect.flatMap(child, ({ kill }) => kill),
                    Effect.never
                  )
                )
              : learner.forwardBackward(batch, onLogprobs)
          )
      }))
  }
  const settings = Toy.settings(folder, { batchSize: 4, trainingSteps: steps, checkpointInterval: 3 })
  const trainer = yield* Effect.provideService(Trainer.make({ settings }), LearnerEngine, dying)
  yield* ServiceTraining.steps(trainer, { settings, owner: "test" }).pipe(
    Stream.provide(TrajectoryClient.context(client)),
    Stream.runDrain
  )
  const files = yield* Effect.forEach(["adapter_model.safetensors", "optimizer.safetensors"], (file) =>
    fs.readFile(`${folder}/step_${steps}/${file}`)
  )
  const left = yield* client.claim({ owner: "another", wait: 0, lease: "1 minute" })
  return { files, gradients, left: Option.getOrUndefined(left)?.step }
}, Effect.scoped)

describe.skipIf(!Torch.isPresent)(`a trainer whose PyTorch process is killed${Torch.absence}`, () => {
  it.live("trains on no batch twice and loses none: the same bits as one that kept it", () =>
    Effect.gen(function* () {
      const whole = yield* run(undefined)
      const lossy = yield* run(5)
      assert.deepStrictEqual(lossy.files, whole.files)
      // Steps 4 and 5 were computed again, from the checkpoint of step 3.
      assert.deepStrictEqual([whole.gradients, lossy.gradients], [steps, steps + 2])
      assert.deepStrictEqual([whole.left, lossy.left], [steps + 1, steps + 1])
    }).pipe(Effect.provide(Layer.merge(NodeServices.layer, SharedOrt.layer)))
  )
})
