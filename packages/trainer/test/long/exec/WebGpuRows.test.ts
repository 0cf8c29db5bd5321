/**
 * A training step on rows so long that the scores of whole rows would be more than a shader of WebGPU is sure to see of
 * a tensor, 128 MiB: there ONNX Runtime computes wrongly without a word.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import type { DeviceKind } from "../../../src/exec/Executor.ts"
import * as Ort from "../../../src/exec/Ort.ts"
import type { TrainingSequence } from "../../../src/learn/TrainingSequence.ts"
import * as WeightedBatch from "../../../src/learn/WeightedBatch.ts"
import * as LocalLearner from "../../../src/local/LocalLearner.ts"
import * as Preset from "../../../src/loss/Preset.ts"
import * as Model from "../../../src/model/Model.ts"
import * as TinyModel from "../../../src/model/TinyModel.ts"
import { devices, devicesNote } from "../../exec/TestGraphs.ts"

const isThere = devices.some((kind) => kind === "webgpu")

/** 2 heads: 4 x 2 x 4100² bytes are 128.3 MiB. */
const length = 4100
const model = TinyModel.make({ characters: "abcdefgh", hiddenSize: 32, layers: 1, maxPositions: length, seed: 5 })

const sequence: TrainingSequence = {
  tokens: Int32Array.from({ length: length + 1 }, (_, t) => (t * t * 7 + 3 * t) % model.config.vocabSize),
  mask: new Uint8Array(length + 1).fill(1),
  advantages: new Float32Array(length + 1).fill(1),
  temperature: 1,
  score: 0,
  policyVersion: null,
  group: 0
}

const stepOn = Effect.fnUntraced(function* (kind: DeviceKind) {
  const objective = Result.getOrThrow(Preset.resolve({ preset: "grpo" }))
  const step = Effect.gen(function* () {
    const engine = yield* LocalLearner.make({ model: Model.trainable(model) })
    const learner = yield* engine.load({ objective, maxLength: length, tokenBudget: length })
    const { batch } = WeightedBatch.choose([sequence], objective, {
      maxLength: length,
      vocabSize: model.config.vocabSize
    })
    const logprobs: Array<number> = []
    yield* learner.forwardBackward(batch, (_, found) => void logprobs.push(...found))
    return { logprobs, norm: (yield* learner.optimizerStep(0)).norm! }
  })
  return yield* step.pipe(
    Effect.scoped,
    Effect.provide([Ort.layer({ device: { kind, detail: kind }, threads: 1 }), NodeServices.layer])
  )
})

describe.skipIf(!isThere)(`long rows on WebGPU (${devicesNote})`, () => {
  it.live("have the CPU's logprobs and gradient", () =>
    Effect.gen(function* () {
      const [cpu, gpu] = [yield* stepOn("cpu"), yield* stepOn("webgpu")]
      assert.lengthOf(gpu.logprobs, length)
      for (const [t, logprob] of cpu.logprobs.entries()) assert.closeTo(gpu.logprobs[t]!, logprob, 1e-4, `at ${t}`)
      assert.isAbove(cpu.norm, 1e-3)
      assert.closeTo(gpu.norm / cpu.norm, 1, 1e-4)
    })
  )
})
