/**
 * What a run on a model of one's own will take, before it starts: the time of a step and of the whole run, memory, and
 * what would make it faster where nobody wants to wait that long. Made of the lengths that rollouts have (`Lengths`),
 * and of how fast this machine is (`Speed`).
 *
 * Answers grow and shrink while a model learns, so the time is that of its first steps. Where the model is too slow for
 * its answers to be known, a step has two times: at a usual length, and at the longest that is allowed.
 */
import { Docs } from "@atropos/core"
import type { Model } from "@atropos/trainer/model/Model"
import * as Tensors from "@atropos/trainer/model/Tensors"
import * as TrainerSettings from "@atropos/trainer/run/TrainerSettings"
import { availableParallelism, totalmem } from "node:os"
import * as Summary from "../job/Summary.ts"
import type * as Lengths from "./Lengths.ts"
import * as Speed from "./Speed.ts"

export interface Workload {
  readonly batchSize: number
  readonly groupSize: number
  readonly steps: number
  /** Longest prompt and answer together, and longest answer, tokens. */
  readonly seqLen: number
  readonly maxTokenLength: number
  /** Completions that are sampled at once, in training and of held-out items. */
  readonly rows: number
  readonly evaluationRows: number
  /** Updates of the weights with each batch. */
  readonly updates: number
}

/** Lengths of prompts and answers, tokens, where nobody knows better. */
const usual = { prompt: 200, answer: 200 }

/** Tokens of a prompt, and of answers of which each is as likely as the others. */
export interface Expected {
  readonly prompt: number
  readonly answers: ReadonlyArray<number>
}

const mean = (values: ReadonlyArray<number>): number => values.reduce((sum, value) => sum + value, 0) / values.length

/** What rollouts are expected to be: once where their lengths are known, else of usual and of the longest answers. */
export const expected = (
  { maxTokenLength, seqLen }: Pick<Workload, "maxTokenLength" | "seqLen">,
  { areCut, prompt: seen, rollouts }: Lengths.Lengths
): readonly [Expected, ...ReadonlyArray<Expected>] => {
  const prompt = seen ?? Math.min(usual.prompt, Math.ceil(seqLen / 2))
  const answers = rollouts.map(({ answer }) => answer)
  if (answers.length > 0 && !areCut) return [{ prompt, answers }]
  const longest = Math.max(1, Math.min(maxTokenLength, Math.floor(seqLen - prompt)))
  const least = Math.min(longest, Math.max(usual.answer, ...answers))
  const shorter = { prompt, answers: [least] }
  return least < longest ? [shorter, { prompt, answers: [longest] }] : [shorter]
}

/** Seconds to sample so many completions, at most `rows` of them at once; those that have ended leave their rows. */
const samplingSeconds = (completions: number, rows: number, { answers }: Expected, speed: Speed.Speed): number => {
  const together = Math.min(completions, rows)
  let seconds = 0
  // The first token comes with the prompt.
  for (let token = 2; token <= Math.max(...answers); token++) {
    const left = answers.filter((answer) => answer >= token).length / answers.length
    seconds += Speed.decodingSeconds(speed, together * left)
  }
  return (seconds * completions) / Math.max(1, together)
}

/** Seconds of a step. */
export const stepSeconds = (workload: Workload, speed: Speed.Speed, lengths: Expected): number => {
  const { batchSize, groupSize, rows, updates } = workload
  const prompts = ((batchSize / groupSize) * lengths.prompt) / speed.prompts
  const training = (batchSize * updates * (lengths.prompt + mean(lengths.answers))) / speed.training
  return prompts + samplingSeconds(batchSize, rows, lengths, speed) + training
}

/** Seconds for so many held-out items. */
export const heldOutSeconds = (workload: Workload, speed: Speed.Speed, items: number, lengths: Expected): number =>
  items === 0
    ? 0
    : (items * lengths.prompt) / speed.prompts + samplingSeconds(items, workload.evaluationRows, lengths, speed)

/** Prompt and answer together. */
export const lengthOf = ({ answers, prompt }: Expected): number => prompt + mean(answers)

/** Seconds for one run beyond which advice is given. */
const longRun = 3600

/** Changes that make a step shorter, each with what it would take. */
const advice = (
  workload: Workload,
  speed: Speed.Speed,
  lengths: Expected
): ReadonlyArray<readonly [string, string]> => {
  const at = (changed: Workload, expected: Expected) => `${time(stepSeconds(changed, speed, expected))} a step`
  const shorter = 128
  const limited = { ...lengths, answers: lengths.answers.map((answer) => Math.min(answer, shorter)) }
  const batchSize = Math.max(8, Math.round(workload.batchSize / 4))
  const fewer = { ...workload, batchSize, rows: Math.min(workload.rows, batchSize) }
  return [
    ...(Math.max(...lengths.answers) > shorter
      ? [[`--env.max_token_length ${shorter}`, `${at(workload, limited)} at most`] as const]
      : []),
    ...(batchSize < workload.batchSize ? [[`--batch_size ${batchSize}`, at(fewer, lengths)] as const] : []),
    ["a smaller model", "time is proportional to the number of parameters"],
    ["a GPU", `${Docs.path("gpu.md")}; or sample on one: ${Docs.path("training.md")}, in separate processes`]
  ]
}

const count = (value: number): string => value.toLocaleString("en-US")
const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`
export const time = (seconds: number): string => Summary.time(1000 * seconds)
const rate = (value: number): string => (value < 10 ? value.toPrecision(2) : count(Math.round(value)))

/** Of the whole model, an adapter apart. */
const parametersOf = ({ config }: Model): number =>
  Tensors.all(config).reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0)

const spanOf = (values: ReadonlyArray<string>): string => [...new Set(values)].join(" to ")

/** How long rollouts are, and how that is known. */
const lengthsLine = ({ areCut, prompt, rollouts }: Lengths.Lengths, [first]: ReadonlyArray<Expected>): string => {
  const items = `${rollouts.length} held-out ${rollouts.length === 1 ? "item" : "items"}`
  if (prompt === undefined) {
    return `none known before the first step; prompts of ${count(first!.prompt)} tokens assumed`
  }
  const prompts = `prompts of ${count(Math.round(prompt))} tokens`
  return areCut || rollouts.length === 0
    ? `${prompts}; this model is too slow to know its answers now`
    : `${prompts} and answers of ${count(Math.round(mean(first!.answers)))}, as ${items} had them`
}

export interface Described {
  readonly model: Model
  readonly trainer: TrainerSettings.TrainerFields
  readonly workload: Workload
  readonly lengths: Lengths.Lengths
  readonly expected: readonly [Expected, ...ReadonlyArray<Expected>]
  readonly speed: Speed.Speed
  /** Of the process: now, and at most by the end of a step, for each that is expected. */
  readonly memory: { readonly now: number; readonly later: ReadonlyArray<number> }
  /** Programs that wanted a processor during the trial, this one's threads among them; 0 where that is not known. */
  readonly load: number
}

/** Beyond so many programs to a core, what was measured is not what the machine can do. */
const busy = 2

/** The plan as pairs to be printed. */
export const describe = (options: Described): ReadonlyArray<readonly [string, string]> => {
  const { expected, lengths, load, memory, model, speed, trainer, workload } = options
  const { adapter, layout, name } = model
  const { batchSize, maxTokenLength, rows, seqLen, steps } = workload
  const longest = expected.at(-1)!
  const isLimited = Math.floor(seqLen - longest.prompt) < maxTokenLength
  const step = expected.map((one) => stepSeconds(workload, speed, one))
  const heldOut = expected.map((one) => heldOutSeconds(workload, speed, lengths.heldOut, one))
  const kind = adapter === undefined ? "all weights" : `an adapter of rank ${adapter.r}`
  const isLong = step.at(-1)! * steps > longRun
  const answers = (one: Expected) => count(Math.round(mean(one.answers)))
  return [
    ["model", `${name}, ${count(parametersOf(model))} parameters`],
    ["trained", `${kind}: ${count(layout.size)} parameters, learning rate ${TrainerSettings.learningRate(trainer)}`],
    ["lengths", lengthsLine(lengths, expected)],
    ...(isLimited
      ? [
          [
            "answers",
            `of up to ${count(maxTokenLength)} tokens (max_token_length), as far as the prompt leaves room in ${count(seqLen)} (seq_len)`
          ] as const
        ]
      : []),
    [
      "memory",
      `${gigabytes(memory.now)} of ${gigabytes(totalmem())} used, ${spanOf(memory.later.map(gigabytes))} at the peak: activations, keys and values`
    ],
    [
      "measured",
      `sampling ${rate(rows / Speed.decodingSeconds(speed, rows))}, training ${rate(speed.training)} tokens/s` +
        (load > busy * availableParallelism()
          ? `, beside other programs (load ${load.toFixed(0)}): without these all of it is faster`
          : "")
    ],
    [
      "a step",
      `${batchSize} answers: ` +
        expected.map((one, index) => `${time(step[index]!)} at ${answers(one)} tokens each`).join(", ")
    ],
    [
      `${steps} steps`,
      spanOf(step.map((seconds) => time(seconds * steps))) +
        (lengths.heldOut > 0
          ? `, and ${spanOf(heldOut.map(time))} for the ${count(lengths.heldOut)} held-out items before, and again after`
          : "")
    ],
    ...(isLong
      ? advice(workload, speed, longest).map(
          ([what, then], index) => [index === 0 ? "faster" : "", `${what}: ${then}`] as const
        )
      : [])
  ]
}
