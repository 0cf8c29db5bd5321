/** One batch, 20 steps: over the wire to our Tinker server, and in this machine's engine, from the same adapter. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as OrtWorker from "../../../src/exec/OrtWorker.ts"
import * as LocalLearner from "../../../src/local/LocalLearner.ts"
import * as Objective from "../../../src/loss/Objective.ts"
import * as Preset from "../../../src/loss/Preset.ts"
import * as Lora from "../../../src/model/Lora.ts"
import * as Model from "../../../src/model/Model.ts"
import type { TrainingSequence } from "../../../src/learn/TrainingSequence.ts"
import * as Adapters from "../../../src/tinker/service/Adapters.ts"
import * as Tensor from "../../../src/tinker/protocol/Tensor.ts"
import { base, computed, created, done, live, opened, serve } from "./TestTinkerServer.ts"

const steps = 20
const learningRate = 0.003
const sequences = [
  [3, 4, 5, 6, 7, 3, 4, 5, 9],
  [8, 9, 4, 4],
  [5, 5, 6, 7, 2, 1]
]
/** Of tokens 1, 2, …: what the sampler is said to have computed, and how good they were. */
const logprobOf = (token: number) => -1 - token / 10
const advantageOf = (item: number, at: number) => (item - 1) * 0.7 + at / 10

const trainingSequence = (tokens: ReadonlyArray<number>, item: number): TrainingSequence => ({
  tokens: Int32Array.from(tokens),
  mask: Uint8Array.from(tokens, (_, at) => (at === 0 ? 0 : 1)),
  advantages: Float32Array.from(tokens, (_, at) => advantageOf(item, at)),
  engineLogprobs: Float32Array.from(tokens, (token, at) => (at === 0 ? NaN : logprobOf(token))),
  temperature: 1,
  score: 0,
  policyVersion: 0,
  group: item
})

const batch = {
  sequences: sequences.map(trainingSequence),
  // The protocol's losses are sums.
  items: sequences.map((tokens, sequence) => ({
    sequence,
    length: tokens.length - 1,
    trained: tokens.length - 1,
    weight: 1
  }))
}

const kind = { rank: 4, trainAttn: true, trainMlp: true }
const adapted = Adapters.adapt(base, kind, 32)
const model = { ...adapted, initial: Lora.initial(adapted.layout, 7) }

const sft = Result.getOrThrow(Preset.resolve({ preset: "sft" }))
const ratio = Objective.make({
  name: "ratio",
  tokenLoss: (graph, { advantages, logprobs, oldLogprobs }) =>
    graph.neg(graph.mul(graph.exp(graph.sub(logprobs, oldLogprobs)), advantages))
})

/** Loss and logprobs of every step, by the engine of this machine. */
const locally = (objective: typeof sft) =>
  Effect.gen(function* () {
    const engine = yield* LocalLearner.make({ model: Model.trainable(model) })
    const optimizer = { beta1: 0.9, beta2: 0.95, epsilon: 1e-12, weightDecay: 0.01, maxNorm: 0.5 }
    const learner = yield* engine.load({ objective, optimizer })
    const seen: Array<{ readonly loss: number; readonly logprobs: ReadonlyArray<Float32Array> }> = []
    for (let step = 0; step < steps; step++) {
      const logprobs: Array<Float32Array> = []
      const { loss } = yield* learner.forwardBackward(batch, (item, values) => (logprobs[item] = values.slice()))
      yield* learner.optimizerStep(learningRate)
      seen.push({ loss, logprobs })
    }
    return seen
  }).pipe(Effect.provide(OrtWorker.layer({ threads: 1 })), Effect.scoped)

describe("Tinker server and local engine", () => {
  for (const [loss, objective] of [
    ["cross_entropy", sft],
    ["importance_sampling", ratio]
  ] as const) {
    it.live(`compute the same ${steps} steps of ${loss}`, () =>
      live(
        Effect.gen(function* () {
          const own = yield* locally(objective)
          const client = yield* serve()
          const id = yield* created(client, yield* opened(client), { rank: 4, seed: 7 })
          const data = sequences.map((tokens, item) => {
            const row = (of: (token: number, at: number) => number) =>
              Tensor.row(Float32Array.from(tokens.slice(1), (token, at) => of(token, at + 1)))
            const inputs =
              loss === "cross_entropy"
                ? { weights: row(() => 1) }
                : { logprobs: row(logprobOf), advantages: row((_, at) => advantageOf(item, at)) }
            return {
              tokens: Int32Array.from(tokens.slice(0, -1)),
              inputs: new Map([
                ["target_tokens", Tensor.row(Int32Array.from(tokens.slice(1)))],
                ...Object.entries(inputs)
              ])
            }
          })
          for (let step = 0; step < steps; step++) {
            const { metrics, outputs } = yield* computed(client, { model: id, number: 2 * step + 1, data, loss })
            yield* done(client, "optim_step", {
              model_id: id,
              seq_id: 2 * step + 2,
              adam_params: { learning_rate: learningRate, weight_decay: 0.01, grad_clip_norm: 0.5 }
            })
            const { logprobs, loss: expected } = own[step]!
            assert.closeTo(metrics.get("loss:sum")!, expected, 1e-3)
            for (const [item, output] of outputs.entries()) {
              for (const [at, logprob] of output.get("logprobs")!.values.entries()) {
                assert.closeTo(logprob, logprobs[item]![at]!, 1e-4)
              }
            }
          }
          assert.notStrictEqual(own.at(-1)!.loss, own[0]!.loss)
        })
      )
    )
  }
})
