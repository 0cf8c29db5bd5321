/**
 * Effect of quantizing a model's frozen weights on its log-probabilities: sequences that it sampled, evaluated by the
 * model in 8 and in 4 bits, and by the quantized sampler next to its trainer. Also the learning of an adapter on
 * either: sorting four tokens, 150 steps of 32 examples.
 *
 *     node --conditions=atropos-src bench/trainer/drift.ts FOLDER
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as OrtWorker from "@atropos/trainer/exec/OrtWorker"
import * as Engine from "@atropos/trainer/engine/Engine"
import * as Model from "@atropos/trainer/model/Model"
import * as PretrainedModel from "@atropos/trainer/model/PretrainedModel"
import * as QuantizedWeights from "@atropos/trainer/model/QuantizedWeights"
import * as DecodeGraph from "../../packages/trainer/src/engine/DecodeGraph.ts"
import * as LocalLearner from "../../packages/trainer/src/local/LocalLearner.ts"
import * as Preset from "../../packages/trainer/src/loss/Preset.ts"
import { uniform } from "../../packages/trainer/src/base/CounterRandom.ts"
import * as WarmStart from "../../packages/trainer/src/learn/WarmStart.ts"
import * as WeightedBatch from "../../packages/trainer/src/learn/WeightedBatch.ts"
import { Effect, Result } from "effect"

const [folder = ""] = process.argv.slice(2)
const [sequences, promptTokens, sampledTokens] = [64, 8, 16]
const trains = { r: 4, alpha: 8, targetModules: ["all-linear"], rslora: false }

const engineOf = (model: Model.Model) =>
  Engine.make({
    model: DecodeGraph.make(Model.decodable(model)),
    initial: { policy: "policy", policyVersion: 0, parameters: model.initial },
    device: "cpu"
  })

/** The trainer's log-probabilities of the sampled tokens, sequence by sequence. */
const trained = Effect.fnUntraced(function* (model: Model.Model, tokens: ReadonlyArray<Int32Array>) {
  const objective = Result.getOrThrow(Preset.resolve({ preset: "grpo" }))
  const learner = yield* Effect.flatMap(LocalLearner.make({ model: Model.trainable(model) }), (engine) =>
    engine.load({ objective, maxLength: promptTokens + sampledTokens })
  )
  const given = tokens.map((sequence, index) => ({
    tokens: sequence,
    mask: Uint8Array.from(sequence, (_, t) => Number(t >= promptTokens)),
    advantages: new Float32Array(sequence.length).fill(index % 2 === 0 ? 1 : -1),
    temperature: 1,
    score: 0,
    policyVersion: null,
    group: 0
  }))
  const limits = { maxLength: promptTokens + sampledTokens, vocabSize: model.config.vocabSize }
  const { batch } = WeightedBatch.choose(given, objective, limits)
  return (yield* learner.forward(batch)).flatMap((logprobs) => [...logprobs.subarray(promptTokens - 1)])
})

const lessons = { batchSize: 32, learningRate: 3e-3, steps: 150 }

/** The mean loss of the last 20 steps. */
const learned = Effect.fnUntraced(function* (quantize: QuantizedWeights.Kind | undefined) {
  const adapter = { ...trains, r: 16, alpha: 32 }
  const model = yield* PretrainedModel.load(folder, { trains: adapter, seed: 0, quantize })
  const losses: Array<number> = []
  yield* Effect.scoped(
    WarmStart.run({
      ...lessons,
      demonstration: (index) => {
        const tokens = Array.from({ length: 4 }, (_, t) => 1 + Math.floor(8 * uniform(1, index, t)))
        return { prompt: [...tokens, 9], completion: tokens.toSorted((a, b) => a - b) }
      },
      onStep: (_, loss) => Effect.sync(() => void losses.push(loss))
    })
  ).pipe(Effect.provide(LocalLearner.layer({ model: Model.trainable(model) })))
  return losses.slice(-20).reduce((sum, loss) => sum + loss / 20, 0)
})

const told = (differences: ReadonlyArray<number>): string => {
  const mean = differences.reduce((sum, one) => sum + Math.abs(one), 0) / differences.length
  return `mean ${mean.toExponential(1)}, largest ${Math.max(...differences.map(Math.abs)).toExponential(1)} nats`
}

const program = Effect.gen(function* () {
  const load = (quantize?: QuantizedWeights.Kind) => PretrainedModel.load(folder, { trains, seed: 0, quantize })
  const model = yield* load()
  const engine = yield* engineOf(model)
  const tokens = yield* Effect.forEach(Array(sequences).keys(), (index) => {
    const prompt = Array.from(
      { length: promptTokens },
      (_, t) => (7919 * (index + 1) * (t + 1)) % model.config.vocabSize
    )
    const request = { promptTokens: prompt, n: 1, maxTokens: sampledTokens, temperature: 1, topP: 1, topK: 0 }
    return Effect.map(engine.generate({ ...request, stopTokenIds: [], seed: index }), ([answer]) =>
      Int32Array.of(...prompt, ...answer!.tokens)
    )
  })
  const unrounded = yield* trained(model, tokens)
  for (const kind of [undefined, ...QuantizedWeights.kinds]) {
    console.log(
      `${kind ?? "as it is"}: loss of a task after ${lessons.steps} steps ${(yield* learned(kind)).toFixed(3)}`
    )
  }
  for (const kind of QuantizedWeights.kinds) {
    const rounded = yield* load(kind)
    const ours = yield* trained(rounded, tokens)
    const sampler = yield* engineOf(rounded)
    const scored = yield* Effect.forEach(tokens, (sequence) =>
      Effect.map(sampler.score({ promptTokens: [...sequence] }), ({ logprobs }) => [...logprobs.subarray(promptTokens)])
    )
    // Sampled by the original model, so the mean difference is its KL divergence from the quantized one.
    const divergence = unrounded.reduce((sum, one, i) => sum + one - ours[i]!, 0) / ours.length
    console.log(
      `${kind}: from the model as it is ${told(ours.map((one, i) => one - unrounded[i]!))}, ` +
        `KL about ${divergence.toExponential(1)}; sampler from trainer ${told(scored.flat().map((one, i) => one - ours[i]!))}`
    )
  }
})

await program.pipe(
  Effect.scoped,
  Effect.provide([OrtWorker.layer({ device: "cpu", threads: 1 }), NodeServices.layer, NodeHttpClient.layerUndici]),
  Effect.runPromise
)
