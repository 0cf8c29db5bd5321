/**
 * Sequences sampled with top-k, top-p or min-p, whose logprobs are renormalised over the tokens that were kept, against
 * logprobs renormalised by hand.
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { Effect, Layer, type Scope } from "effect"
import * as Mismatch from "../../src/learn/Mismatch.ts"
import type { TrainingSequence } from "../../src/learn/TrainingSequence.ts"
import type { WeightedBatch } from "../../src/learn/WeightedBatch.ts"
import * as LocalLearner from "../../src/local/LocalLearner.ts"
import * as Model from "../../src/model/Model.ts"
import * as PretrainedModel from "../../src/model/PretrainedModel.ts"
import * as TorchEngine from "../../src/torch/TorchEngine.ts"
import * as SharedOrt from "../exec/SharedOrt.ts"
import { folder } from "../model/Fixtures.ts"
import { near, objectives } from "../tinker/RemoteEngine.ts"
import * as Torch from "../torch/Torch.ts"

const process = Torch.processOf()
const services = Layer.mergeAll(NodeServices.layer, NodeHttpClient.layerUndici, SharedOrt.layer)
const live = <A, E>(effect: Effect.Effect<A, E, Layer.Success<typeof services> | Scope.Scope>) =>
  effect.pipe(Effect.scoped, Effect.provide(services))

const prompt = [5, 9, 21, 33]
const kept = [
  [7, 30, 41],
  [12, 50]
]
const sampled = [30, 12]
const temperature = 0.7
const grpo = objectives(true).find(({ name }) => name === "grpo")!

const sequenceOf = (tokens: ReadonlyArray<number>, more: Partial<TrainingSequence> = {}): TrainingSequence => ({
  tokens: Int32Array.from(tokens),
  mask: new Uint8Array(tokens.length).fill(1, prompt.length),
  advantages: new Float32Array(tokens.length).fill(1),
  temperature,
  score: 0,
  policyVersion: 0,
  group: 0,
  ...more
})

const batchOf = (sequences: ReadonlyArray<TrainingSequence>): WeightedBatch => ({
  sequences,
  items: sequences.map(({ mask, tokens }, sequence) => {
    const trained = mask.reduce((sum, one) => sum + one, 0)
    return { sequence, length: tokens.length - 1, trained, weight: 1 / sequences.length }
  })
})

const truncated = sequenceOf([...prompt, ...sampled], {
  keptTokens: [...prompt.map(() => []), ...kept].map((ids) => Int32Array.from(ids))
})
/** Sampled without: the other sequence of the micro-batch. */
const plain = sequenceOf([...prompt, 1, 2, 3])

describe.skipIf(!Torch.isPresent)(`truncated sampling with PyTorch's engine${Torch.absence}`, () => {
  it.live("is renormalised over the kept tokens, in logprobs and in the gradient's", () =>
    live(
      Effect.gen(function* () {
        const there = yield* TorchEngine.make(Torch.optionsOf(process))
        const learner = yield* there.load({ objective: grpo })
        // Logprobs over the whole vocabulary of every token that was kept.
        const candidates = kept.flatMap((ids, at) => ids.map((id) => [...prompt, ...sampled.slice(0, at), id]))
        const rows = yield* learner.forward(batchOf(candidates.map((tokens) => sequenceOf(tokens))))
        const last = rows.map((row) => row.at(-1)!)
        let place = 0
        const expected = kept.map((ids, at) => {
          const logprobs = ids.map(() => last[place++]!)
          return logprobs[ids.indexOf(sampled[at]!)]! - Math.log(logprobs.reduce((sum, one) => sum + Math.exp(one), 0))
        })
        const of = (row: Float32Array) => Array.from(row.subarray(prompt.length - 1))
        const batch = batchOf([plain, truncated])
        const [other, own] = yield* learner.forward(batch)
        near(of(own!), expected, 1e-5, "logprob of token")
        const [alone] = yield* learner.forward(batchOf([plain]))
        near(of(other!), of(alone!), 1e-5, "logprob of a token beside it")
        const seen: Array<Float32Array> = []
        yield* learner.forwardBackward(batch, (item, row) => void (seen[item] = row.slice()))
        near(of(seen[1]!), expected, 1e-5, "logprob of the gradient's token")
        // What the sampler reports is what the trainer computes: no difference is allowed for.
        const engineLogprobs = Float32Array.from([...prompt.map(() => Number.NaN), ...expected])
        const sampling = { temperature, topP: 0.9, topK: 3, minP: 0, logprobs: "processed" } as const
        const compared = Mismatch.meter(batchOf([{ ...truncated, engineLogprobs, sampling }]), 0)
        compared.add(0, seen[1]!)
        assert.strictEqual(compared.sum().tokens, 2)
        assert.isBelow(Mismatch.mean(compared.sum())!, 1e-5)
        yield* learner.optimizerStep(0.01)
        const [after] = yield* learner.forward(batch)
        // Both advantages are positive.
        assert.isAbove(of(after!)[0]!, of(other!)[0]!)
      })
    )
  )

  it.live("has the values and derivatives of logprobs by hand", () =>
    Effect.gen(function* () {
      const script = fileURLToPath(new URL("../torch/truncated_reference.py", import.meta.url))
      const path = fileURLToPath(new URL("../../python", import.meta.url))
      const { stdout } = yield* Effect.promise(() =>
        promisify(execFile)(Torch.interpreter, [script], { env: { ...globalThis.process.env, PYTHONPATH: path } })
      )
      const { gradients, values } = JSON.parse(stdout) as { gradients: number; values: number }
      assert.isBelow(values, 1e-5)
      assert.isBelow(gradients, 1e-4)
    })
  )
})

describe("truncated sampling", () => {
  it.live("is refused by the local engine, by name", () =>
    live(
      Effect.gen(function* () {
        const model = yield* PretrainedModel.load(folder("qwen3"), { trains: Torch.lora, seed: 1 })
        const local = yield* LocalLearner.make({ model: Model.trainable(model) })
        const learner = yield* local.load({ objective: grpo, maxLength: 16 })
        const { message, reason } = yield* Effect.flip(learner.forwardBackward(batchOf([truncated])))
        assert.strictEqual(reason, "settings")
        assert.match(message, /--engine local cannot renormalise: train with --engine torch/)
      })
    )
  )
})
