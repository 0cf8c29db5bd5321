/**
 * What is trained and sampled with, on WebGPU beside the CPU: every rule in float32, a training step, the generation
 * engine.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { type DeviceKind, Executor, type HostTensor } from "../../src/exec/Executor.ts"
import * as Ort from "../../src/exec/Ort.ts"
import { grad } from "../../src/graph/Autodiff.ts"
import { dimValue } from "../graph/dimValue.ts"
import { Graph } from "../../src/graph/Graph.ts"
import { toOnnx } from "../../src/graph/Onnx.ts"
import * as Preset from "../../src/loss/Preset.ts"
import * as Packed from "../local/Packed.ts"
import * as Model from "../../src/model/Model.ts"
import * as TinyModel from "../../src/model/TinyModel.ts"
import * as DecodeGraph from "../../src/engine/DecodeGraph.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as TrainFeeds from "../../src/local/TrainFeeds.ts"
import * as TrainGraph from "../../src/local/TrainGraph.ts"
import type { TrainingSequence } from "../../src/learn/TrainingSequence.ts"
import { cases, type RuleCase, sizes } from "../graph/RuleCases.ts"
import { noise } from "../graph/RunGraph.ts"
import { uniforms } from "../loss/ToyPolicy.ts"
import * as TinyDecoder from "../engine/TinyDecoder.ts"
import { devices, devicesNote } from "./TestGraphs.ts"

const isThere = devices.some((kind) => kind === "webgpu")

const on = <A, E>(kind: DeviceKind, effect: Effect.Effect<A, E, Executor>) =>
  Effect.provide(effect, Ort.layer({ device: { kind, detail: kind }, threads: 1 }))

/** Greatest difference over greatest magnitude. */
const relativeError = (actual: HostTensor, expected: HostTensor): number => {
  const [a, b] = [Float64Array.from(actual.data, Number), Float64Array.from(expected.data, Number)]
  const scale = b.reduce((most, x) => Math.max(most, Math.abs(x)), 1e-3)
  return b.reduce((worst, x, i) => Math.max(worst, Math.abs(a[i]! - x)), 0) / scale
}

/** A case's loss and gradients in float32, as outputs of a graph of many. */
const addCase = (g: Graph, { build, operands }: RuleCase, prefix: string): void => {
  const inputs = operands.map(({ dtype, shape }, i) =>
    g.input(`${prefix}.x${i}`, dtype === "float64" ? "float32" : dtype, shape)
  )
  const y = build(g, ...inputs)
  const size = g.dimMul(...y.shape)
  const at = g.cumsum(g.expand(g.scalar(0.7), [size]), 0)
  const loss = g.sum(g.mul(g.sin(at), g.sin(g.reshape(g.cast(y, "float32"), [size]))), [0])
  const real = inputs.filter(({ dtype }) => dtype === "float32")
  grad(g, loss, real).forEach((gradient, i) => g.output(`${prefix}.d${i}`, gradient))
  g.output(`${prefix}.loss`, loss)
}

const feedsOf = ({ operands }: RuleCase, prefix: string): Record<string, HostTensor> =>
  Object.fromEntries(
    operands.map(({ dtype, from, shape }, i) => {
      const dims = shape.map((dim) => dimValue(dim, sizes)!)
      const numbers = noise(
        dims.reduce((product, dim) => product * dim, 1),
        i
      ).map(from)
      const tensor: HostTensor =
        dtype === "int32"
          ? { dtype, shape: dims, data: Int32Array.from(numbers) }
          : { dtype: "float32", shape: dims, data: Float32Array.from(numbers) }
      return [`${prefix}.x${i}`, tensor]
    })
  )

/** Every case that does not ask for float64 by name. */
const float32Cases = () => {
  const graph = new Graph()
  const both = { dtype: "float32", shape: [sizes.B, sizes.T], data: new Float32Array(sizes.B * sizes.T) } as const
  const feeds: Record<string, HostTensor> = { sizes: both }
  graph.input("sizes", "float32", ["B", "T"])
  let count = 0
  for (const [op, ofOp] of Object.entries(cases)) {
    for (const [i, one] of ofOp.entries()) {
      const prefix = `${op}.${i}`
      const alone = Result.try(() => {
        const trial = new Graph()
        trial.input("sizes", "float32", ["B", "T"])
        addCase(trial, one, prefix)
      })
      if (Result.isFailure(alone)) continue
      addCase(graph, one, prefix)
      Object.assign(feeds, feedsOf(one, prefix))
      count++
    }
  }
  return { model: toOnnx(graph), feeds, count }
}

const tiny = TinyModel.make({ characters: "abcdefghij=", hiddenSize: 32, layers: 2, seed: 3 })
const adapted = TinyModel.withAdapter(
  tiny,
  tiny.initial,
  { r: 4, alpha: 8, targetModules: ["q_proj", "v_proj", "down_proj"], rslora: false },
  5
)

const sequences = (vocabulary: number): ReadonlyArray<TrainingSequence> => {
  const uniform = uniforms(11)
  return [9, 14, 7, 11].map((length, i) => ({
    tokens: Int32Array.from({ length }, () => Math.floor(uniform() * vocabulary)),
    mask: Uint8Array.from({ length }, (_, t) => (t < 3 ? 0 : 1)),
    advantages: new Float32Array(length).fill(i % 2 === 0 ? 1 : -0.5),
    engineLogprobs: Float32Array.from({ length }, (_, t) => (t < 3 ? 1 : -2 - uniform())),
    refLogprobs: Float32Array.from({ length }, (_, t) => (t < 3 ? 1 : -2 - uniform())),
    temperature: 1,
    score: 0,
    policyVersion: null,
    group: 0
  }))
}

describe.skipIf(!isThere)(`WebGPU beside the CPU (${devicesNote})`, () => {
  it.live("every rule has the CPU's gradients in float32", () =>
    Effect.gen(function* () {
      const { count, feeds, model } = float32Cases()
      assert.isAbove(count, 80)
      const run = Effect.gen(function* () {
        const program = yield* (yield* Executor).load(model, { optimization: "basic" })
        return (yield* program.run(feeds)).host
      }).pipe(Effect.scoped)
      const [cpu, gpu] = [yield* on("cpu", run), yield* on("webgpu", run)]
      for (const [name, expected] of Object.entries(cpu)) {
        assert.isBelow(relativeError(gpu[name]!, expected), 1e-5, name)
      }
    })
  )

  it.live("a training step has the CPU's loss and gradient: adapter, recomputed, in chunks, KL, packed", () =>
    Effect.gen(function* () {
      const objective = Result.getOrThrow(Preset.resolve({ preset: "grpo", klCoef: 0.1 }))
      const options = { ...TrainGraph.defaults, chunks: 2, remat: true }
      const { graph } = TrainGraph.build(Model.policy(adapted), objective, options)
      const { vocabSize } = adapted.config
      const settings = { vocabSize, maxLength: 32, tokenBudget: 64, multiple: 4 }
      const { microBatches } = Packed.of(sequences(vocabSize), objective, settings)
      // B of an adapter begins as zeros, which would hide the gradient of A.
      const parameters = adapted.initial.map((x, i) => x + 0.05 * Math.sin(i))
      const step = Effect.gen(function* () {
        const executor = yield* Executor
        const program = yield* executor.load(toOnnx(graph))
        const theta = yield* executor.put({ dtype: "float32", shape: [parameters.length], data: parameters.slice() })
        return yield* Effect.forEach(microBatches, (batch) =>
          Effect.map(program.run({ ...TrainFeeds.feeds(batch, objective), theta }), ({ host }) => host)
        )
      }).pipe(Effect.scoped)
      const [cpu, gpu] = [yield* on("cpu", step), yield* on("webgpu", step)]
      assert.isAbove(cpu.length, 0)
      for (const [i, expected] of cpu.entries()) {
        assert.isAbove(Math.hypot(...Float32Array.from(expected["grad"]!.data, Number)), 1e-3)
        for (const [name, tensor] of Object.entries(expected)) {
          assert.isBelow(relativeError(gpu[i]![name]!, tensor), 1e-4, name)
        }
      }
    })
  )

  it.live("the engine continues greedily with the CPU's tokens and logprobs, alone and in company", () =>
    Effect.gen(function* () {
      const model = DecodeGraph.make(TinyDecoder.model)
      const initial = { policy: "base", policyVersion: 0, parameters: TinyDecoder.parameters(1) }
      const prompts = [5, 18, 3].map((length) => Array.from({ length }, (_, t) => (t * t * 7 + 3 * t + 1) % 29))
      const answers = (device: DeviceKind) =>
        Effect.gen(function* () {
          const engine = yield* Engine.make({ model, initial, device })
          return yield* Effect.forEach(
            prompts,
            (promptTokens) =>
              engine.generate({
                promptTokens,
                n: 1,
                maxTokens: 16,
                temperature: 0,
                topP: 1,
                topK: 0,
                stopTokenIds: [],
                seed: 7
              }),
            { concurrency: "unbounded" }
          )
        }).pipe(Effect.scoped)
      const [cpu, gpu] = [yield* answers("cpu"), yield* answers("webgpu")]
      for (const [i, [expected]] of cpu.entries()) {
        const [choice] = gpu[i]!
        assert.deepStrictEqual(choice!.tokens, expected!.tokens)
        for (const [t, logprob] of expected!.logprobs.entries()) assert.closeTo(choice!.logprobs[t]!, logprob, 1e-5)
      }
    })
  )
})
