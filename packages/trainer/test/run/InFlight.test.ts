/** Where the engine changes its weights in the middle of an answer, the answer is as old as its oldest token. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { type ScoredGroup, Trajectory } from "@atropos/core"
import { Effect, Fiber, FileSystem, Layer, References, Stream } from "effect"
import * as Waits from "../../../core/test/base/Waits.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as LocalLearner from "../../src/local/LocalLearner.ts"
import * as TinyModel from "../../src/model/TinyModel.ts"
import * as Trainer from "../../src/run/Trainer.ts"
import * as TrainerSettings from "../../src/run/TrainerSettings.ts"
import * as PolicyLayers from "../../src/server/PolicyLayers.ts"
import * as SharedOrt from "../exec/SharedOrt.ts"
import * as Toy from "./ToyTraining.ts"

const groupSize = 4

const settings = (savePath: string, trainer: Partial<TrainerSettings.TrainerFields>) =>
  TrainerSettings.complete({
    trainer: { savePath, lr: 1e-2, checkpointInterval: 0, ...trainer },
    loss: { preset: "dr-grpo" }
  })

const ask = (maxTokens: number, seed: number) => ({
  promptTokens: [0, 1, 2, 3, 0, 1, 2, 3],
  n: groupSize,
  maxTokens,
  temperature: 1,
  topP: 1,
  topK: 0,
  stopTokenIds: [],
  seed
})

const groupOf = (
  request: ReturnType<typeof ask>,
  choices: ReadonlyArray<Engine.TokenCompletion>
): ScoredGroup.ScoredGroup => {
  const prompt = request.promptTokens
  return {
    tokens: choices.map(({ tokens }) => Int32Array.from([...prompt, ...tokens])),
    masks: choices.map(({ tokens }) => Trajectory.maskFrom(prompt.length, prompt.length + tokens.length)),
    scores: Float64Array.from(choices, (_, i) => i % 2),
    inferenceLogprobs: choices.map(({ logprobs }) =>
      Float32Array.from([...prompt.map(() => Trajectory.notSampled), ...logprobs])
    ),
    policyVersions: choices.map(({ policyVersion }) => policyVersion)
  }
}

describe("an answer that new weights came in the middle of", () => {
  const model = TinyModel.make({ characters: "abcd", seed: 1, hiddenSize: 32, layers: 1, maxPositions: 512 })
  const secondStep = Effect.fnUntraced(
    function* (rule: { readonly maxStaleness: number; readonly onStale: "drop" | "mask" }) {
      const engine = yield* Engine.Engine
      const savePath = yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())
      const fields = { ...rule, trainingSteps: 2, batchSize: 8, seqLen: 512, maxMismatch: 100 }
      const trainer = yield* Trainer.make({ settings: settings(savePath, fields) })
      yield* trainer.publish
      const short = ask(4, 1)
      const first = groupOf(short, yield* engine.generate(short))
      const long = ask(400, 2)
      const running = yield* Effect.forkChild(engine.generate(long), { startImmediately: true })
      yield* Waits.until("80 tokens", engine.status, ({ generatedTokens }) => generatedTokens > 80)
      yield* Stream.runDrain(trainer.steps(Stream.make(Toy.batch(1, [first]))))
      const crossed = yield* Fiber.join(running)
      // Drawn from both, and as old as the first of them.
      for (const { policyVersion, policyVersions } of crossed) {
        assert.deepStrictEqual([policyVersion, policyVersions?.[0], policyVersions?.at(-1)], [0, 0, 1])
      }
      const fresh = groupOf(short, yield* engine.generate(short))
      assert.deepStrictEqual(fresh.policyVersions, [1, 1, 1, 1])
      const [metrics] = yield* Stream.runCollect(
        trainer.steps(Stream.make(Toy.batch(2, [groupOf(long, crossed), fresh])))
      )
      const { staleDropped, staleMasked, stalenessMax, stalenessMean } = metrics!
      return { staleDropped, staleMasked, stalenessMax, stalenessMean }
    },
    Effect.scoped,
    (effect) =>
      Effect.provide(
        effect,
        LocalLearner.layerInProcess({ model }).pipe(
          Layer.provideMerge(
            PolicyLayers.layerInProcess(model, {
              device: "cpu",
              settings: { weightUpdates: "in_flight", speculativeTokens: 3 }
            })
          ),
          Layer.provideMerge(Layer.mergeAll(SharedOrt.layer, NodeServices.layer)),
          Layer.provideMerge(Layer.succeed(References.MinimumLogLevel, "None"))
        ),
        { local: true }
      )
  )

  it.live("is as stale as its oldest token: dropped or masked by that", () =>
    Effect.gen(function* () {
      const seen = { stalenessMax: 1, stalenessMean: 0.5 }
      assert.deepStrictEqual(yield* secondStep({ maxStaleness: 0, onStale: "drop" }), {
        ...seen,
        staleDropped: groupSize,
        staleMasked: 0
      })
      assert.deepStrictEqual(yield* secondStep({ maxStaleness: 0, onStale: "mask" }), {
        ...seen,
        staleDropped: 0,
        staleMasked: groupSize
      })
    })
  )
})
