/**
 * What a run on a model of one's own will take, before it starts: the time of a step and of the whole run, memory, and
 * what would make it faster where nobody wants to wait that long. Made of the lengths that rollouts have (`Lengths`),
 * and of how fast this machine is (`Speed`).
 *
 * Answers grow and shrink while a model learns, so the time is that of its first steps. Where the model is too slow for
 * its answers to be known, a step has two times: at a usual length, and at the longest that is allowed.
 */
import { Docs } from "@atropos/core"
import type { DeviceKind } from "@atropos/trainer/exec/Executor"
import type { Model } from "@atropos/trainer/model/Model"
import type { TrainerSettings } from "@atropos/trainer/run/TrainerSettings"
import { totalmem } from "node:os"
import * as PlanLines from "../train/PlanLines.ts"
import * as Room from "../train/Room.ts"
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
const advice = (workload: Workload, speed: Speed.Speed, lengths: Expected): ReadonlyArray<PlanLines.Line> => {
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

const { count, rate, span, time } = PlanLines

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

/** Limits of the sampler's caches, chosen for the memory that is there. */
const cachesLine = (settings: Described["settings"], device: DeviceKind): PlanLines.Line => {
  const { kvMemoryMegabytes, prefixCacheMegabytes } = Room.caches(Room.memoryOf(settings.trainer, device))
  return [
    "caches",
    `up to ${count(kvMemoryMegabytes)} MiB for keys and values of running answers, ${count(prefixCacheMegabytes)} MiB for those of prompts`
  ]
}

export interface Described {
  readonly model: Model
  readonly settings: Pick<TrainerSettings, "trainer">
  readonly device: DeviceKind
  readonly workload: Workload
  readonly lengths: Lengths.Lengths
  readonly expected: readonly [Expected, ...ReadonlyArray<Expected>]
  readonly speed: Speed.Speed
  readonly memory: PlanLines.Memory
  /** Programs that wanted a processor during the trial. */
  readonly load: number
}

/** The plan as pairs to be printed. */
export const describe = (options: Described): ReadonlyArray<PlanLines.Line> => {
  const { device, expected, lengths, load, memory, model, settings, speed, workload } = options
  const { batchSize, maxTokenLength, rows, seqLen, steps } = workload
  const longest = expected.at(-1)!
  const isLimited = Math.floor(seqLen - longest.prompt) < maxTokenLength
  const step = expected.map((one) => stepSeconds(workload, speed, one))
  const heldOut = expected.map((one) => heldOutSeconds(workload, speed, lengths.heldOut, one))
  const isLong = step.at(-1)! * steps > longRun
  const answers = (one: Expected) => count(Math.round(mean(one.answers)))
  const there = device === "cpu" ? Room.memoryOf(settings.trainer, device) : totalmem()
  return [
    ...PlanLines.model(model, settings.trainer),
    ["lengths", lengthsLine(lengths, expected)],
    ...(isLimited
      ? [
          [
            "answers",
            `of up to ${count(maxTokenLength)} tokens (max_token_length), as far as the prompt leaves room in ${count(seqLen)} (seq_len)`
          ] as const
        ]
      : []),
    PlanLines.memory(memory, "activations, keys and values", there),
    PlanLines.computing(model, settings, device),
    cachesLine(settings, device),
    [
      "measured",
      `sampling ${rate(rows / Speed.decodingSeconds(speed, rows))}, training ${rate(speed.training)} tokens/s${PlanLines.beside(load)}`
    ],
    [
      "a step",
      `${batchSize} answers: ` +
        expected.map((one, index) => `${time(step[index]!)} at ${answers(one)} tokens each`).join(", ")
    ],
    [
      `${steps} steps`,
      span(step.map((seconds) => time(seconds * steps))) +
        (lengths.heldOut > 0
          ? `, and ${span(heldOut.map(time))} for the ${count(lengths.heldOut)} held-out items before, and again after`
          : "")
    ],
    ...(isLong
      ? advice(workload, speed, longest).map(
          ([what, then], index) => [index === 0 ? "faster" : "", `${what}: ${then}`] as const
        )
      : [])
  ]
}
