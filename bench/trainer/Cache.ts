/**
 * Cache usage of loads with unequal lengths: bytes reserved per byte that sequences use, and the processor time of a
 * decoding step.
 *
 *     node --conditions=atropos-src bench/trainer/Cache.ts [SHAPE] [layers=N] [vocabulary=N] [steps=N] [LOAD…]
 *
 * A shape of `internal/Checkpoint.ts` with random weights, by default 0.5B with 4 layers and 1,024 tokens; the engine's
 * scheduler runs in this thread, so that only its steps are measured. Loads are those below, by default all. Steps are
 * counted once every prompt is processed; the cost of a prompt token includes the decoding steps done meanwhile. The
 * last column is a digest of all tokens and logprobs: equal if every sample is the same, bit for bit. THREADS is that
 * of each graph run.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as Model from "@atropos/trainer/model/Model"
import * as PretrainedModel from "@atropos/trainer/model/PretrainedModel"
import { Effect } from "effect"
import { createHash } from "node:crypto"
import * as Ort from "../../packages/trainer/src/exec/Ort.ts"
import * as DecodeGraph from "../../packages/trainer/src/engine/DecodeGraph.ts"
import type { Answer } from "../../packages/trainer/src/engine/EngineProtocol.ts"
import { defaults } from "../../packages/trainer/src/engine/EngineSettings.ts"
import * as ExecutorRunner from "../../packages/trainer/src/engine/ExecutorRunner.ts"
import { Scheduler } from "../../packages/trainer/src/engine/Scheduler.ts"
import * as Checkpoint from "./internal/Checkpoint.ts"

interface Group {
  readonly prompt: number
  readonly n: number
}

const each = (count: number, prompt: number): ReadonlyArray<Group> =>
  Array.from({ length: count }, () => ({ prompt, n: 1 }))

/** Prompts, and the number of answers to each. */
const loads: { readonly [name: string]: ReadonlyArray<Group> } = {
  mixed: [...each(30, 168), ...each(2, 3968)],
  groups: [100, 500, 1000, 2000].map((prompt) => ({ prompt, n: 8 })),
  even: each(32, 500),
  long: each(4, 4000),
  short: each(32, 30),
  alone: each(1, 500),
  prompt: each(1, 4000)
}

const words = process.argv.slice(2)
const number = (name: string, otherwise: number): number => {
  const word = words.find((word) => word.startsWith(`${name}=`))
  return word === undefined ? otherwise : Number(word.slice(name.length + 1))
}
const names = Object.keys(Checkpoint.shapes) as ReadonlyArray<Checkpoint.ShapeName>
const shape = names.find((name) => words.includes(name)) ?? "0.5B"
const cut = { layers: number("layers", 4), vocabulary: number("vocabulary", 1024) }
const steps = number("steps", 24)
const chosen = Object.keys(loads).filter((name) => words.includes(name))

const measure = Effect.fnUntraced(function* (name: string, model: Model.Model) {
  const executor = yield* Ort.make({ device: "cpu", threads: Number(process.env["THREADS"] ?? 0) })
  const decode = DecodeGraph.make(Model.decodable(model))
  const settings = { ...defaults, kvMemoryMegabytes: 8192, prefixCacheMegabytes: 0, prefillTokens: 4096 }
  const scheduler = new Scheduler(yield* ExecutorRunner.make(executor, decode), settings)
  const answers: Array<Answer> = []
  const take = () => void answers.push(...scheduler.takeReport().answers)
  yield* scheduler.execute({
    _tag: "Load",
    id: 0,
    policy: "policy",
    policyVersion: 0,
    parameters: model.initial
  })
  const groups = loads[name]!
  const rows = groups.reduce((sum, { n }) => sum + n, 0)
  // All stay until the slowest has had its steps.
  const maxTokens = steps + Math.ceil(groups.reduce((sum, { prompt }) => sum + prompt, 0) / 1000) + 40
  for (const [id, { n, prompt }] of groups.entries()) {
    const promptTokens = Array.from({ length: prompt }, (_, t) => (t * t * 7 + 3 * t + 11 * id) % cut.vocabulary)
    const request = { promptTokens, n, maxTokens, temperature: 1, topP: 1, topK: 0, stopTokenIds: [], seed: id }
    yield* scheduler.execute({ _tag: "Generate", id: id + 1, request, stream: false })
  }
  const status = Effect.gen(function* () {
    yield* scheduler.execute({ _tag: "Status", id: 1_000_000 })
    take()
    const last = answers.at(-1)
    return last?._tag === "Status" ? last.status : yield* Effect.die("no status")
  })
  const { headDim, kvHeads, layers } = decode.shape
  const positionBytes = 2 * 4 * layers * kvHeads * headDim
  const whole = groups.reduce((sum, { n, prompt }) => sum + n * prompt, 0)
  const begun = process.cpuUsage()
  let before = yield* status
  while (before.generatedTokens < rows || before.promptTokens < groups.reduce((sum, { prompt }) => sum + prompt, 0)) {
    yield* scheduler.step
    before = yield* status
  }
  const prompts = process.cpuUsage(begun)
  const perPrompt = (prompts.system + prompts.user) / 1000 / before.promptTokens
  yield* scheduler.step
  before = yield* status
  let reserved = 0
  let used = 0
  let processor = 0
  for (let step = 0; step < steps; step++) {
    const start = process.cpuUsage()
    yield* scheduler.step
    const { system, user } = process.cpuUsage(start)
    processor += (system + user) / 1e6
    const now = yield* status
    if (now.running !== rows) return yield* Effect.die(`${now.running} of ${rows} rows were there`)
    reserved += now.kvBytes
    // A row holds all of its tokens except the last.
    used += positionBytes * (whole + now.generatedTokens - rows)
  }
  while (!scheduler.isIdle) yield* scheduler.step
  take()
  const hash = createHash("sha256")
  const done = answers.flatMap((answer) => (answer._tag === "Generated" ? [answer] : []))
  for (const { choices } of done.toSorted((a, b) => a.id - b.id)) {
    for (const { logprobs, tokens } of choices) hash.update(JSON.stringify([tokens, [...logprobs]]))
  }
  console.log(
    `${name.padEnd(8)} ${String(rows).padStart(3)} rows  reserved ${(reserved / steps / 2 ** 20).toFixed(0).padStart(5)} MiB, ` +
      `${(reserved / used).toFixed(2)} of what is used;  ${((1000 * processor) / steps).toFixed(1).padStart(6)} ms of processor a step, ` +
      `${perPrompt.toFixed(2)} a prompt's token;  ` +
      hash.digest("hex").slice(0, 12)
  )
}, Effect.scoped)

const adapter = { r: 16, alpha: 32, targetModules: ["all-linear"], rslora: false }

const program = Effect.gen(function* () {
  const folder = yield* Effect.promise(() => Checkpoint.folderOf(shape, cut))
  const model = yield* PretrainedModel.load(folder, { trains: adapter, seed: 0 })
  for (const name of chosen.length === 0 ? Object.keys(loads) : chosen) yield* measure(name, model)
})

await Effect.runPromise(program.pipe(Effect.provide([NodeServices.layer, NodeHttpClient.layerUndici])))
