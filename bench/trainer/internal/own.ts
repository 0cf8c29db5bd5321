/**
 * Ours, in a separate process: the same work as `reference.py`, with the same JSON line at the end.
 *
 *     node own.ts train FOLDER STEPS [DEVICE [BATCH LENGTH]] [int8|int4] [planned=SHAPE] [parts]
 *     node own.ts generate FOLDER BATCH TOKENS [DEVICE] [greedy] [int8|int4]
 *     node own.ts converse FOLDER TURNS CACHE_MEGABYTES
 *
 * With `planned` the graph is built as for that shape, of which FOLDER has a part: recomputation depends on how much
 * the whole model would keep. `parts` recomputes whole parts, regardless of available memory. THREADS is that of each
 * graph run, by default one per core.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as Device from "@atropos/trainer/exec/Device"
import * as Checkpoint from "./Checkpoint.ts"
import * as OrtWorker from "@atropos/trainer/exec/OrtWorker"
import { Executor } from "@atropos/trainer/exec/Executor"
import * as LocalLearner from "../../../packages/trainer/src/local/LocalLearner.ts"
import * as Preset from "../../../packages/trainer/src/loss/Preset.ts"
import * as Model from "@atropos/trainer/model/Model"
import * as QuantizedWeights from "@atropos/trainer/model/QuantizedWeights"
import * as PretrainedModel from "@atropos/trainer/model/PretrainedModel"
import * as DecodeGraph from "../../../packages/trainer/src/engine/DecodeGraph.ts"
import * as Engine from "@atropos/trainer/engine/Engine"
import { defaults } from "../../../packages/trainer/src/engine/EngineSettings.ts"
import * as WeightedBatch from "../../../packages/trainer/src/learn/WeightedBatch.ts"
import type { TrainingSequence } from "../../../packages/trainer/src/learn/TrainingSequence.ts"
import { Effect, Result } from "effect"

const threads = Number(process.env["THREADS"] ?? 0)
const adapter = { r: 16, alpha: 32, targetModules: ["all-linear"], rslora: false }
const adam = { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.01, maxNorm: 1 }

type Quantize = PretrainedModel.Options["quantize"]

const load = (folder: string, quantize?: Quantize) =>
  PretrainedModel.load(folder, { trains: adapter, seed: 0, quantize }).pipe(
    Effect.provide([NodeServices.layer, NodeHttpClient.layerUndici])
  )

const randomTokens = (count: number, vocabulary: number) =>
  Int32Array.from({ length: count }, () => Math.floor(Math.random() * vocabulary))

const sequence = (length: number, vocabulary: number): TrainingSequence => ({
  // One more than positions: the first token is only read.
  tokens: randomTokens(length + 1, vocabulary),
  mask: new Uint8Array(length + 1).fill(1),
  advantages: new Float32Array(length + 1).fill(2 * Math.random() - 1),
  temperature: 1,
  score: 0,
  policyVersion: null,
  group: 0
})

const processorSeconds = (before: NodeJS.CpuUsage): number => {
  const { system, user } = process.cpuUsage(before)
  return (system + user) / 1e6
}

const peakBytes = () => process.resourceUsage().maxRSS * 1024

interface Training {
  readonly folder: string
  /** After a first one that allocates memory; 0: only that one is measured. */
  readonly steps: number
  readonly batch: number
  readonly length: number
  readonly quantize: Quantize
  readonly planned: Checkpoint.ShapeName | undefined
  readonly isSparing: boolean
}

const train = Effect.fnUntraced(function* ({ batch, folder, isSparing, length, planned, quantize, steps }: Training) {
  const model = yield* load(folder, quantize)
  const { vocabSize } = model.config
  const { device } = yield* Executor
  const objective = Result.getOrThrow(Preset.resolve({ preset: "grpo" }))
  const engine = yield* LocalLearner.make({
    model: { ...Model.trainable(model), ...(planned && { shape: Checkpoint.shapes[planned].config }) },
    ...(isSparing && { graph: { remat: "parts" } })
  })
  const learner = yield* engine.load({ objective, optimizer: adam, maxLength: length, tokenBudget: batch * length })
  let best = Infinity
  let processor = Infinity
  for (let step = 0; step <= steps; step++) {
    const sequences = Array.from({ length: batch }, () => sequence(length, vocabSize))
    const start = performance.now()
    const before = process.cpuUsage()
    const chosen = WeightedBatch.choose(sequences, objective, { maxLength: length, vocabSize })
    const { microBatches } = yield* learner.forwardBackward(chosen.batch)
    if (microBatches !== 1) return yield* Effect.die(new Error("the batch was cut"))
    yield* learner.optimizerStep(1e-4)
    if (step === 0 && steps > 0) continue
    best = Math.min(best, (performance.now() - start) / 1000)
    processor = Math.min(processor, processorSeconds(before))
  }
  return {
    secondsPerStep: best,
    processorSeconds: processor,
    tokensPerSecond: (batch * length) / best,
    peakBytes: peakBytes(),
    device: device.detail
  }
}, Effect.scoped)

interface Decoding {
  readonly folder: string
  readonly batch: number
  readonly tokens: number
  readonly device: Device.DeviceChoice
  readonly quantize: Quantize
  readonly temperature: number
}

const generate = Effect.fnUntraced(function* ({ batch, device, folder, quantize, temperature, tokens }: Decoding) {
  const model = yield* load(folder, quantize)
  const { kind } = yield* Device.choose(device)
  const engine = yield* Engine.make({
    model: DecodeGraph.make(Model.decodable(model)),
    initial: { policy: "policy", policyVersion: 0, parameters: model.initial },
    device: kind,
    settings: { threads, maxRows: Math.max(batch, defaults.maxRows) }
  })
  const ask = (maxTokens: number) =>
    Effect.forEach(
      Array.from({ length: batch }, () => Array.from(randomTokens(32, model.config.vocabSize))),
      (promptTokens) =>
        engine.generate({ promptTokens, n: 1, maxTokens, temperature, topP: 1, topK: 0, stopTokenIds: [] }),
      { concurrency: "unbounded" }
    )
  yield* ask(4)
  let best = Infinity
  let processor = Infinity
  for (let repetition = 0; repetition < 2; repetition++) {
    const start = performance.now()
    const before = process.cpuUsage()
    yield* ask(tokens)
    best = Math.min(best, (performance.now() - start) / 1000)
    processor = Math.min(processor, processorSeconds(before))
  }
  return { tokensPerSecond: (batch * tokens) / best, processorSeconds: processor, peakBytes: peakBytes() }
}, Effect.scoped)

/** Turns of 150 prompt tokens and 50 sampled ones, in four parallel conversations. */
const converse = Effect.fnUntraced(function* (folder: string, turns: number, prefixCacheMegabytes: number) {
  const model = yield* load(folder)
  const engine = yield* Engine.make({
    model: DecodeGraph.make(Model.decodable(model)),
    initial: { policy: "policy", policyVersion: 0, parameters: model.initial },
    device: "cpu",
    settings: { prefixCacheMegabytes }
  })
  const conversation = Effect.gen(function* () {
    let chat: ReadonlyArray<number> = []
    for (let turn = 0; turn < turns; turn++) {
      const promptTokens = [...chat, ...randomTokens(150, model.config.vocabSize)]
      const [answer] = yield* engine.generate({
        promptTokens,
        n: 1,
        maxTokens: 50,
        temperature: 1,
        topP: 1,
        topK: 0,
        stopTokenIds: []
      })
      chat = [...promptTokens, ...answer!.tokens]
    }
  })
  yield* engine.generate({
    promptTokens: [1],
    n: 1,
    maxTokens: 4,
    temperature: 1,
    topP: 1,
    topK: 0,
    stopTokenIds: []
  })
  const start = performance.now()
  yield* Effect.forEach(Array(4).keys(), () => conversation, { concurrency: "unbounded" })
  const seconds = (performance.now() - start) / 1000
  const { generatedTokens, promptTokens } = yield* engine.status
  return {
    tokensPerSecond: (4 * turns * 50) / seconds,
    promptTokensPerToken: promptTokens / generatedTokens,
    peakBytes: peakBytes()
  }
}, Effect.scoped)

const [command, folder = "", ...rest] = process.argv.slice(2)
const [first = 0, second = 0, third = 0] = rest.filter((word) => /^\d+$/.test(word)).map(Number)
const words = rest.filter((word) => !/^\d+$/.test(word))
const quantize = QuantizedWeights.kinds.find((kind) => words.includes(kind))
const names = Object.keys(Checkpoint.shapes) as ReadonlyArray<Checkpoint.ShapeName>
const planned = names.find((name) => words.includes(`planned=${name}`))
const device = Device.DeviceChoice.literals.find((name) => words.includes(name)) ?? "cpu"

const figures = await (command === "train"
  ? Effect.runPromise(
      train({
        folder,
        steps: first,
        batch: second || 4,
        length: third || 256,
        quantize,
        planned,
        isSparing: words.includes("parts")
      }).pipe(Effect.provide([OrtWorker.layer({ device, threads }), NodeServices.layer]))
    )
  : command === "converse"
    ? Effect.runPromise(converse(folder, first, second))
    : Effect.runPromise(
        generate({
          folder,
          batch: first,
          tokens: second,
          device,
          quantize,
          temperature: words.includes("greedy") ? 0 : 1
        })
      ))
console.log(JSON.stringify(figures))
