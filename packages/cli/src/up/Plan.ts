/**
 * What a run on a model of one's own will take, measured before it starts: sampling and training speed on this machine,
 * the memory they have taken, the time of a step and of the whole run, and what would make it faster where nobody wants
 * to wait that long.
 *
 * Answers are as long as the model makes them, so a step has two times: at a usual length, and at the longest that is
 * allowed.
 */
import { Docs } from "@atropos/core"
import type { Model } from "@atropos/trainer/model/Model"
import * as Tensors from "@atropos/trainer/model/Tensors"
import * as Engine from "@atropos/trainer/engine/Engine"
import type * as Trainer from "@atropos/trainer/run/Trainer"
import * as TrainerSettings from "@atropos/trainer/run/TrainerSettings"
import { totalmem } from "node:os"
import { Clock, Effect } from "effect"
import * as BundledModel from "../config/BundledModel.ts"
import * as Summary from "../job/Summary.ts"

/** Tokens a second. */
export interface Speed {
  readonly sampling: number
  readonly training: number
}

/** And the positions of the micro-batch that was tried. */
export interface Measured extends Speed {
  readonly triedTokens: number
}

export interface Workload {
  readonly batchSize: number
  readonly steps: number
  /** Longest prompt and answer together, and longest answer, tokens. */
  readonly seqLen: number
  readonly maxTokenLength: number
}

/** Lengths of prompts and answers, tokens, where nobody knows better. */
const usual = { prompt: 200, answer: 200 }

/** A step of so long answers, seconds. */
export const stepSeconds = ({ batchSize }: Workload, { sampling, training }: Speed, answer: number): number =>
  batchSize * (answer / sampling + (usual.prompt + answer) / training)

/** The longest answer there is room for. */
export const longestAnswer = ({ maxTokenLength, seqLen }: Workload): number =>
  Math.max(1, Math.min(maxTokenLength, seqLen - usual.prompt))

/** Prompt and answer together, of usual and of the longest answers. */
export const lengths = (workload: Workload): readonly [number, number] => {
  const longest = longestAnswer(workload)
  const most = Math.min(workload.seqLen, usual.prompt + longest)
  return [Math.min(most, usual.prompt + usual.answer), most]
}

const sampledRows = 32
const sampledTokens = 8
/** Trained to begin with, and where that is soon done: products of more rows are faster. */
const trainedTokens = 128
const moreTrainedTokens = 1024

/** Seconds that the second may take. */
const patience = 3

/** Times a few tokens of both; changes nothing. */
export const measure = Effect.fn("Plan.measure")(function* (
  { config }: Model,
  trainer: Pick<Trainer.Trainer, "measure">,
  { batchSize, seqLen }: Workload
) {
  const engine = yield* Engine.Engine
  const rows = Math.min(batchSize, sampledRows)
  const sample = (maxTokens: number) =>
    engine.generate({
      promptTokens: Array.from(
        { length: Math.max(1, Math.min(16, seqLen - sampledTokens)) },
        (_, i) => i % config.vocabSize
      ),
      n: rows,
      maxTokens: Math.max(1, Math.min(maxTokens, seqLen - 1)),
      temperature: 1,
      topP: 1,
      topK: 0,
      stopTokenIds: [],
      seed: 0
    })
  yield* sample(1)
  const start = yield* Clock.currentTimeNanos
  yield* sample(sampledTokens)
  const samplingSeconds = Number((yield* Clock.currentTimeNanos) - start) / 1e9
  const [few, more] = [trainedTokens, moreTrainedTokens].map((tokens) => Math.min(tokens, seqLen)) as [number, number]
  const firstSeconds = yield* trainer.measure(few)
  const isSoonDone = few < more && (firstSeconds * more) / few <= patience
  const tokens = isSoonDone ? more : few
  const trainingSeconds = isSoonDone ? yield* trainer.measure(more) : firstSeconds
  return {
    sampling: (rows * sampledTokens) / samplingSeconds,
    training: tokens / trainingSeconds,
    triedTokens: tokens
  } satisfies Measured
})

/** Seconds for one run beyond which advice is given. */
const longRun = 3600

/** Changes that make a step shorter, each with what it would take. */
const advice = (workload: Workload, speed: Speed): ReadonlyArray<readonly [string, string]> => {
  const longest = longestAnswer(workload)
  const at = (changed: Workload, answer: number) => `${time(stepSeconds(changed, speed, answer))} a step`
  const shorter = Math.min(128, longest)
  const fewer = { ...workload, batchSize: Math.max(8, Math.round(workload.batchSize / 4)) }
  return [
    ...(shorter < longest ? [[`--env.max_token_length ${shorter}`, `${at(workload, shorter)} at most`] as const] : []),
    ...(fewer.batchSize < workload.batchSize
      ? [[`--batch_size ${fewer.batchSize}`, at(fewer, Math.min(usual.answer, longest))] as const]
      : []),
    ["a smaller model", "time is proportional to the number of parameters"],
    ["a GPU", `${Docs.path("gpu.md")}; or sample on one: ${Docs.path("training.md")}, in separate processes`]
  ]
}

const count = (value: number): string => value.toLocaleString("en-US")
const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`
const time = (seconds: number): string => Summary.time(1000 * seconds)
const rate = (value: number): string => (value < 10 ? value.toPrecision(2) : count(Math.round(value)))

/** Of the whole model, an adapter apart. */
const parametersOf = ({ config }: Model): number =>
  Tensors.all(config).reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0)

const spanOf = ([low, high]: ReadonlyArray<string>): string => (low === high ? low! : `${low} to ${high}`)

/** The plan as pairs to be printed. */
export const describe = (options: {
  readonly model: Model
  readonly trainer: TrainerSettings.TrainerFields
  readonly workload: Workload
  readonly speed: Speed
  /** Of the process: now, and by the end of a step of answers of usual and of the longest length. */
  readonly memory: { readonly now: number; readonly later: readonly [number, number] }
  /** Whether any environment has items to be asked before and after. */
  readonly hasHeldOut: boolean
}): ReadonlyArray<readonly [string, string]> => {
  const { hasHeldOut, memory, model, speed, trainer, workload } = options
  const { adapter, layout, name } = model
  const longest = longestAnswer(workload)
  const least = Math.min(usual.answer, longest)
  const step = [least, longest].map((answer) => stepSeconds(workload, speed, answer)) as [number, number]
  const kind = adapter === undefined ? "all weights" : `an adapter of rank ${adapter.r}`
  const isLong = step[1] * workload.steps > longRun
  return [
    ["model", `${BundledModel.spoken(name)}, ${count(parametersOf(model))} parameters`],
    ["trained", `${kind}: ${count(layout.size)} parameters, learning rate ${TrainerSettings.learningRate(trainer)}`],
    ...(longest < workload.maxTokenLength
      ? [
          [
            "answers",
            `of up to ${count(workload.maxTokenLength)} tokens (max_token_length), as far as the prompt leaves room in ${count(workload.seqLen)} (seq_len)`
          ] as const
        ]
      : []),
    [
      "memory",
      `${gigabytes(memory.now)} of ${gigabytes(totalmem())} used, ${spanOf(memory.later.map(gigabytes))} in a step: activations, keys and values`
    ],
    ["measured", `sampling ${rate(speed.sampling)}, training ${rate(speed.training)} tokens/s`],
    [
      "a step",
      `${workload.batchSize} answers: ${time(step[0])} at ${least} tokens each` +
        (longest > least ? `, ${time(step[1])} at the ${count(longest)} they may have` : "")
    ],
    [
      `${workload.steps} steps`,
      spanOf(step.map((seconds) => time(seconds * workload.steps))) +
        (hasHeldOut ? ", and the held-out items before and after" : "")
    ],
    ...(isLong
      ? advice(workload, speed).map(([what, then], index) => [index === 0 ? "faster" : "", `${what}: ${then}`] as const)
      : [])
  ]
}
