/**
 * Losses and LoRA gradients of a small Qwen2 against PyTorch, PEFT and TRL: fixtures of scripts/make-loss-fixtures.py,
 * and of TRL 1.16's own code alone: scripts/make-preset-fixtures.py.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Labels, Tokenizer, WireGroup } from "@atropos/core"
import { Context, Effect, Layer, Result, Schema, type Scope } from "effect"
import { fileURLToPath } from "node:url"
import { Executor, type ExecutorError, type HostTensor } from "../../src/exec/Executor.ts"
import * as SharedOrt from "../exec/SharedOrt.ts"
import type { Graph } from "../../src/graph/Graph.ts"
import { toOnnx } from "../../src/graph/Onnx.ts"
import { LossSettings } from "../../src/loss/LossSettings.ts"
import type { Objective } from "../../src/loss/Objective.ts"
import * as Preset from "../../src/loss/Preset.ts"
import * as Packed from "../local/Packed.ts"
import type * as MicroBatch from "../../src/local/MicroBatch.ts"
import * as Lora from "../../src/model/Lora.ts"
import * as Model from "../../src/model/Model.ts"
import * as ModelFolder from "../../src/model/ModelFolder.ts"
import type { Layout } from "../../src/model/Parameters.ts"
import * as Peft from "../../src/model/Peft.ts"
import * as Tensors from "../../src/model/Tensors.ts"
import * as Quantile from "../../src/local/Quantile.ts"
import * as TrainFeeds from "../../src/local/TrainFeeds.ts"
import type { Policy } from "../../src/model/TrainableModel.ts"
import * as TrainGraph from "../../src/local/TrainGraph.ts"
import * as TrainingSequence from "../../src/learn/TrainingSequence.ts"
import fixtures from "../fixtures/losses.json" with { type: "json" }
import presets from "../fixtures/presets.json" with { type: "json" }

type Numbers = Float32Array | Float64Array
type Real = "float32" | "float64"

const floats = (base64: string) => new Float32Array(Uint8Array.from(Buffer.from(base64, "base64")).buffer)
const norm = (numbers: Numbers) => Math.hypot(...numbers)
const vector = (data: Numbers, dtype: Real = "float32"): HostTensor => ({ dtype, shape: [data.length], data })

type Run = (
  feeds: TrainFeeds.Feeds,
  theta: HostTensor
) => Effect.Effect<Readonly<Record<string, Numbers>>, ExecutorError>

const load = (graph: Graph): Effect.Effect<Run, ExecutorError, Executor | Scope.Scope> =>
  Effect.gen(function* () {
    const executor = yield* Executor
    const options = graph.real === "float64" ? ({ optimization: "basic" } as const) : {}
    const program = yield* executor.load(toOnnx(graph), options)
    return (feeds, theta) =>
      Effect.map(program.run({ ...feeds, theta }), ({ host }) =>
        // These graphs have real outputs alone.
        Object.fromEntries(Object.entries(host).map(([name, { data }]) => [name, data as Numbers]))
      )
  })

/** The fixtures' model under its adapter. */
class Adapted extends Context.Service<
  Adapted,
  {
    readonly policy: Policy
    readonly layout: Layout
    readonly theta: Float32Array
    /** Logprobs of the policy, for references. */
    readonly logprobs: Run
  }
>()("@atropos/trainer/test/loss/PyTorch/Adapted") {}

const adapted = Layer.effect(
  Adapted,
  Effect.gen(function* () {
    const folder = fileURLToPath(new URL("../fixtures/loss-model", import.meta.url))
    const config = yield* ModelFolder.readConfig(folder)
    const weights = ModelFolder.weights(config, yield* ModelFolder.readEntries(folder, config))
    const adapter = { ...fixtures.lora, targetModules: Tensors.projectionNames, rslora: false }
    const layout = Lora.layout(config, adapter)
    const given: Readonly<Record<string, string>> = fixtures.theta
    const theta = new Float32Array(layout.size)
    for (const { name, offset } of layout.slots) theta.set(floats(given[name]!), offset)
    const model: Model.Model = {
      name: folder,
      config,
      tokenizer: Tokenizer.bytes,
      weights,
      layout,
      initial: theta,
      adapter,
      write: (target, parameters) => Peft.write(target, { layout, adapter, parameters, base: folder })
    }
    const policy = Model.policy(model)
    return { policy, layout, theta, logprobs: yield* load(TrainGraph.buildLogprobs(policy)) }
  })
)

const layerTest = adapted.pipe(Layer.provideMerge(SharedOrt.layer), Layer.provide(NodeServices.layer))

/** The fixture's gradient, in its order of names, as one of the layout. */
const arranged = ({ size, slots }: Layout, gradient: Float32Array): Float32Array => {
  const result = new Float32Array(size)
  let at = 0
  for (const name of fixtures.names) {
    const slot = slots.find((one) => one.name === name)!
    result.set(gradient.subarray(at, at + slot.size), slot.offset)
    at += slot.size
  }
  return result
}

const batches: Readonly<Record<string, ReadonlyArray<unknown>>> = { ...fixtures.batches, ...presets.batches }

interface Case {
  readonly batch: string
  readonly settings: object
  readonly gradient: string
  /** Absent where another loss has the same gradient. */
  readonly loss?: number
  readonly trl?: number
}

const cases: ReadonlyArray<Case> = [...fixtures.cases, ...presets.cases]

/** How far a number is from the one it should be, relative to it, or to 0.1 where it is small. */
const off = (ours: number, theirs: number) => Math.abs(ours - theirs) / Math.max(Math.abs(theirs), 0.1)

/** Sequences of a batch. */
const sequencesOf = (name: string, objective: Objective) =>
  TrainingSequence.ofGroups(
    batches[name]!.map((group) => Result.getOrThrow(WireGroup.decode(group))),
    objective
  ).sequences

/** Loss and gradient of all micro-batches. */
const step = Effect.fnUntraced(function* (
  run: Run,
  objective: Objective,
  microBatches: ReadonlyArray<MicroBatch.MicroBatch>,
  theta: HostTensor,
  real: Real = "float32"
) {
  let loss = 0
  const gradient = new Float64Array(theta.data.length)
  for (const batch of microBatches) {
    const out = yield* run(TrainFeeds.feeds(batch, objective, real), theta)
    loss += out["loss"]![0]!
    out["grad"]!.forEach((slope, i) => (gradient[i]! += slope))
  }
  return { loss, gradient }
})

/** The objective's quantile of the entropies of all trained tokens. */
const thresholdOf = Effect.fnUntraced(function* (
  policy: Policy,
  { entropyQuantile }: Objective,
  microBatches: ReadonlyArray<MicroBatch.MicroBatch>,
  theta: HostTensor
) {
  if (entropyQuantile === null) return undefined
  const run = yield* load(TrainGraph.buildLogprobs(policy, { ...TrainGraph.defaults, entropy: true }))
  const entropies = yield* Effect.forEach(microBatches, (batch) =>
    Effect.map(run(TrainFeeds.idFeeds(batch, "all"), theta), (out) =>
      Array.from(out["entropies"]!).filter((_, at) => batch.lossMask[at] === 1)
    )
  )
  return Quantile.of(Float64Array.from(entropies.flat()), entropyQuantile)
})

layer(layerTest)("losses of PyTorch, PEFT and TRL", (it) => {
  for (const { batch: name, gradient, loss, settings, trl } of cases) {
    const title = Object.entries(settings).map((setting) => setting.join(" "))
    it.effect(`${name}: ${title.join(", ")}`, () =>
      Effect.gen(function* () {
        const { layout, logprobs, policy, theta } = yield* Adapted
        const objective = Result.getOrThrow(Preset.resolve(yield* Schema.decodeUnknownEffect(LossSettings)(settings)))
        const sequences = sequencesOf(name, objective)
        const { microBatches, report } = Packed.of(sequences, objective, {
          vocabSize: 64,
          maxLength: 32,
          tokenBudget: 64,
          multiple: 2
        })
        const unsound = report.dropped.filter(({ reason }) => reason !== "nothing to train")
        assert.deepStrictEqual(unsound, [])
        const reference = vector(TrainGraph.withoutAdapter(layout, theta)!)
        const entropyThreshold = yield* thresholdOf(policy, objective, microBatches, vector(theta))
        const complete = yield* Effect.forEach(microBatches, (batch) =>
          Effect.gen(function* () {
            const given = objective.needsReference && (yield* logprobs(TrainFeeds.idFeeds(batch, "all"), reference))
            return TrainFeeds.withLogprobs(batch, {
              ...(given && { refLogprobs: Float32Array.from(given["logprobs"]!) }),
              ...(entropyThreshold !== undefined && { entropyThreshold })
            })
          })
        )
        const run = yield* load(TrainGraph.build(policy, objective, { ...TrainGraph.defaults, chunks: 2 }).graph)
        const ours = yield* step(run, objective, complete, vector(theta))
        for (const theirs of [loss, trl]) if (theirs !== undefined) assert.isBelow(off(ours.loss, theirs), 1e-4)
        const expected = arranged(layout, floats(gradient))
        for (const { name, offset, size } of layout.slots) {
          const part = expected.subarray(offset, offset + size)
          const difference = part.map((slope, i) => slope - ours.gradient[offset + i]!)
          assert.isBelow(norm(difference), 1e-3 * norm(part), name)
        }
      })
    )
  }
})

layer(layerTest)("a training step of a transformer in float64", (it) => {
  const settings = [
    { preset: "grpo", klCoef: 0.1 },
    { preset: "gspo", clipLow: 0.05, clipHigh: 0.05 }
  ] as const
  const ways = {
    "a row for each sequence": {
      remat: false,
      attention: "rows",
      chunks: 1,
      pack: { maxLength: 16, attentionLength: 1e-6 }
    },
    "recomputed, in chunks, packed, attention in blocks": {
      remat: true,
      attention: "blocks",
      feedForwardChunks: 4,
      chunks: 4,
      pack: { maxLength: 64, multiple: 4 }
    }
  } as const
  for (const [way, { pack, ...graph }] of Object.entries(ways)) {
    it.effect(`has the gradient of central differences: ${way}`, () =>
      Effect.gen(function* () {
        const { layout, policy, theta } = yield* Adapted
        for (const given of settings) {
          const objective = Result.getOrThrow(Preset.resolve(given))
          const { microBatches } = Packed.of(
            sequencesOf("plain", objective).map((sequence) => ({
              ...sequence,
              // Numbers at every position, also where nothing was sampled.
              refLogprobs: Labels.ofLogprobs(sequence.engineLogprobs!)
            })),
            objective,
            { vocabSize: 64, tokenBudget: 128, shapes: 1, ...pack }
          )
          const options = { ...graph, entropy: true, real: "float64" } as const
          const run = yield* load(TrainGraph.build(policy, objective, options).graph)
          const at = (parameters: Float64Array) =>
            step(run, objective, microBatches, vector(parameters, "float64"), "float64")
          const here = Float64Array.from(theta)
          const { gradient } = yield* at(here)
          const h = 1e-6
          const checked = Array.from({ length: 16 }, (_, i) => (i * 91) % layout.size)
          const differences = new Float64Array(checked.length)
          for (const [k, i] of checked.entries()) {
            const above = yield* at(here.with(i, here[i]! + h))
            const below = yield* at(here.with(i, here[i]! - h))
            differences[k] = (above.loss - below.loss) / (2 * h) - gradient[i]!
          }
          assert.isBelow(norm(differences), 1e-6 * norm(Float64Array.from(checked, (i) => gradient[i]!)))
        }
      })
    )
  }
})
