/**
 * Compares results numerically: one batch, 20 steps, by this machine's engine and by a SkyRL server on the CPU, from
 * the same adapter, with every loss that needs only logprobs of sampled tokens.
 *
 *     export ATROPOS_SKYRL_PYTHON=skyrl/bin/python
 *     node --conditions=atropos-src bench/interop/skyrl/main.ts [loss …] [--learning_rate 2e-4]
 *
 * SkyRL draws an adapter's initial values itself. They are published before the first step, fetched as its client
 * would, and read as a PEFT folder: the local engine starts with the same bits. After the last step the adapters are
 * compared as well.
 *
 * For each loss: the largest difference of a logprob before any of the steps and after the last, and of the batch's
 * loss; of the gradient's norm, relative; the cosine between the updates of both adapters; requests per step. Rounding
 * errors grow from step to step, and faster with larger steps: Adam normalizes small gradients by themselves, and a
 * ratio may be clipped on one side and not on the other.
 *
 * Exits with 1 if a logprob differs by more than 1e-4 or a loss by more than 1e-3.
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeServices from "@effect/platform-node/NodeServices"
import {
  LocalLearner,
  type LearnerEngine,
  Model,
  Objective,
  OrtWorker,
  Preset,
  PretrainedModel
} from "@atropos/trainer"
import { Effect, FileSystem, Layer, Result } from "effect"
import { execFile } from "node:child_process"
import { writeFile } from "node:fs/promises"
import { parseArgs, promisify } from "node:util"
import * as HostObjective from "../../../packages/trainer/src/learn/HostObjective.ts"
import type { WeightedBatch } from "../../../packages/trainer/src/learn/WeightedBatch.ts"
import { presetNames } from "../../../packages/trainer/src/loss/LossSettings.ts"
import * as TinkerEngine from "../../../packages/trainer/src/tinker/TinkerEngine.ts"
import * as SameBatch from "../../../packages/trainer/test/tinker/SameBatch.ts"
import * as SkyRLServer from "./SkyRLServer.ts"
import * as TinyLlama from "./TinyLlama.ts"

const { positionals: chosen, values: flags } = parseArgs({
  allowPositionals: true,
  options: { learning_rate: { type: "string", default: "2e-4" } }
})
const steps = 20
const learningRate = Number(flags.learning_rate)
const rank = 4
const bounds = { logprob: 1e-4, loss: 1e-3 }
/** SkyRL does not limit the norm. */
const optimizer = { beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, maxNorm: null }

const all: ReadonlyArray<readonly [string, Objective.Objective]> = [
  ...presetNames.map((preset) => [preset, Result.getOrThrow(Preset.resolve({ preset }))] as const),
  ["grpo with KL", Result.getOrThrow(Preset.resolve({ preset: "grpo", klCoef: 0.1 }))],
  ["dapo, masked drift", Result.getOrThrow(Preset.resolve({ preset: "dapo", offPolicyBound: 0.5 }))],
  [
    "one of our own",
    Objective.make({
      name: "own",
      tokenLoss: (graph, { advantages, logprobs }) => graph.neg(graph.mul(advantages, graph.mul(logprobs, logprobs)))
    })
  ]
]

interface Step {
  readonly loss: number
  readonly norm: number
  readonly logprobs: ReadonlyArray<Float32Array>
}

/** Loss, norm and logprobs of each step, and the logprobs after the last. */
const course = Effect.fnUntraced(function* (learner: LearnerEngine.Learner, batch: WeightedBatch) {
  const made: Array<Step> = []
  for (let step = 0; step < steps; step++) {
    const logprobs: Array<Float32Array> = []
    const { loss } = yield* learner.forwardBackward(batch, (item, values) => (logprobs[item] = values.slice()))
    made.push({ loss, norm: (yield* learner.optimizerStep(learningRate)).norm ?? Number.NaN, logprobs })
  }
  return { made, last: yield* learner.forward(batch) }
})

const fetched = async (url: string): Promise<Uint8Array> => {
  const response = await fetch(url)
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`)
  return new Uint8Array(await response.arrayBuffer())
}

interface Listed {
  readonly checkpoints: ReadonlyArray<{ readonly checkpoint_id: string; readonly checkpoint_type: string }>
}

/** A learner's current weights on SkyRL, as the PEFT folder that samplers receive. */
const adapterOf = Effect.fnUntraced(function* (url: string, learner: LearnerEngine.Learner, version: number) {
  const folder = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()
  yield* learner.publish(version)
  // The protocol has no name for a model, but the paths of its weights contain one.
  const { path } = yield* learner.save("", version)
  const run = `${url}/api/v1/training_runs/${path.split("/")[2]}/checkpoints`
  const archive = `${folder}/adapter.tar.gz`
  yield* Effect.promise(async () => {
    const { checkpoints } = JSON.parse(new TextDecoder().decode(await fetched(run))) as Listed
    const names = checkpoints
      .filter(({ checkpoint_type: type }) => type === "sampler")
      .map(({ checkpoint_id: id }) => id)
    const name = names.find((id) => id.split("/").at(-1)!.startsWith(`policy-${version}-`))
    if (name === undefined) throw new Error(`${run} has no weights of version ${version}: ${names.join(", ")}`)
    await writeFile(archive, await fetched(`${run}/${name.split("/").at(-1)}/archive`))
    await promisify(execFile)("tar", ["-xzf", archive, "-C", folder])
  })
  return folder
})

const largest = (values: ReadonlyArray<number>) =>
  values.reduce((a, b) => Math.max(a, Number.isNaN(b) ? Infinity : b), 0)

const between = (a: ReadonlyArray<Float32Array>, b: ReadonlyArray<Float32Array>) =>
  largest(a.flatMap((row, item) => Array.from(row, (value, t) => Math.abs(value - b[item]![t]!))))

/** Cosine between the differences of two vectors from a third. */
const cosine = (a: Float32Array, b: Float32Array, from: Float32Array) => {
  const dot = (x: Float32Array, y: Float32Array) =>
    x.reduce((sum, value, i) => sum + (value - from[i]!) * (y[i]! - from[i]!), 0)
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b))
}

const differing = (logprob: number, t: number) => Math.min(-1e-3, logprob + 0.3 * Math.sin(12.9898 * t))

/** The batch as if sampled by a policy that differs slightly from this one: no ratio is far from 1. */
const sampledNearby = Effect.fnUntraced(function* (
  learner: LearnerEngine.Learner,
  objective: Objective.Objective,
  vocabSize: number
) {
  const batch = SameBatch.batchOf(objective, { vocabSize, maxLength: 60, shortest: 8, count: 8 })
  const present = yield* learner.forward(batch)
  const changes = new Map(
    batch.items.map(({ sequence }, item) => {
      const { refLogprobs, tokens } = batch.sequences[sequence]!
      const engineLogprobs = new Float32Array(tokens.length).fill(Number.NaN)
      engineLogprobs.set(present[item]!.map(differing), 1)
      // A distant reference would dominate the loss.
      const near = refLogprobs && engineLogprobs.map((logprob, t) => (t === 0 ? -1 : logprob - 0.1))
      return [sequence, { engineLogprobs, ...(near && { refLogprobs: near }) }]
    })
  )
  return { ...batch, sequences: batch.sequences.map((sequence, i) => ({ ...sequence, ...changes.get(i) })) }
})

type Served = Effect.Success<ReturnType<typeof TinyLlama.write>>

const compared = Effect.fnUntraced(function* (
  url: string,
  folder: string,
  model: Served,
  objective: Objective.Objective
) {
  const loading = { objective, optimizer, maxLength: 60 }
  const engine = yield* TinkerEngine.make({
    address: { url, apiKey: undefined },
    baseModel: folder,
    vocabSize: model.vocabSize,
    maxPositions: model.maxPositions,
    rank,
    seed: 5
  })
  const there = yield* engine.learner.load(loading)
  const published = (version: number) =>
    Effect.flatMap(adapterOf(url, there, version), (adapter) => PretrainedModel.loadAdapter(folder, adapter))
  const first = yield* published(0)
  const batch = yield* sampledNearby(there, objective, model.vocabSize)
  const { traffic } = engine.session.transport
  const before = traffic.requests
  const theirs = yield* course(there, batch)
  const requests = (traffic.requests - before - 2) / steps
  const last = yield* published(1)
  const here = yield* Effect.flatMap(LocalLearner.make({ model: Model.trainable(first) }), ({ load }) => load(loading))
  const ours = yield* course(here, batch)
  const pairs = ours.made.map((step, index) => [step, theirs.made[index]!] as const)
  return {
    logprob: largest([...pairs.map(([a, b]) => between(a.logprobs, b.logprobs)), between(ours.last, theirs.last)]),
    loss: largest(pairs.map(([a, b]) => Math.abs(a.loss - b.loss))),
    // If every token is clipped, the norms are 0 on both sides and count as equal.
    norm: largest(
      pairs.map(([a, b]) => (a.norm === b.norm ? 0 : Math.abs(a.norm - b.norm) / Math.max(a.norm, b.norm)))
    ),
    cosine: cosine(yield* here.parameters, last.initial, first.initial),
    from: ours.made[0]!.loss,
    to: ours.made.at(-1)!.loss,
    requests
  }
}, Effect.scoped)

const unknown = chosen.find((name) => !all.some(([known]) => known === name))
if (unknown !== undefined)
  throw new Error(`there is no loss ${unknown}; there are ${all.map(([name]) => name).join(", ")}`)

const program = Effect.gen(function* () {
  const python = SkyRLServer.interpreter()
  const fs = yield* FileSystem.FileSystem
  const folder = yield* fs.makeTempDirectoryScoped()
  const model = yield* TinyLlama.write(`${folder}/tiny-llama`)
  const { url } = yield* Effect.acquireRelease(
    Effect.promise(() => SkyRLServer.serve(python, `${folder}/tiny-llama`, folder)),
    ({ stop }) => Effect.promise(stop)
  )
  console.log(
    `a Llama of ${model.parameters} parameters, adapters of rank ${rank}, ${steps} steps of ${learningRate}, SkyRL at ${url}`
  )
  console.log(
    "loss                 Δ logprob   Δ loss      Δ norm      cosine      loss from .. to        requests a step"
  )
  let isSame = true
  for (const [name, objective] of all) {
    if (chosen.length > 0 && !chosen.includes(name)) continue
    const because = HostObjective.problem(objective)
    if (because !== undefined) {
      console.log(`${name.padEnd(20)} not over a server: ${because}`)
      continue
    }
    const found = yield* compared(url, `${folder}/tiny-llama`, model, objective)
    const figures = [found.logprob, found.loss, found.norm].map((value) => value.toExponential(1).padEnd(11))
    const course = `${found.from.toFixed(4)} .. ${found.to.toFixed(4)}`
    console.log(
      `${name.padEnd(20)} ${figures.join(" ")} ${found.cosine.toFixed(8)}  ${course.padEnd(22)} ${found.requests.toFixed(1)}`
    )
    if (!(found.logprob <= bounds.logprob && found.loss <= bounds.loss)) isSame = false
  }
  if (!isSame) {
    console.log(`not the same: a logprob differs by more than ${bounds.logprob}, or a loss by more than ${bounds.loss}`)
    process.exitCode = 1
  }
})

await Effect.runPromise(
  program.pipe(
    Effect.scoped,
    Effect.provide(
      Layer.mergeAll(NodeServices.layer, NodeHttpClient.layerUndici, OrtWorker.layer({ threads: 1, device: "cpu" }))
    )
  )
)
