/**
 * Estimates time and memory of a run on a custom model before it starts, with changes that make a long run faster, from
 * the lengths of rollouts (`Lengths`) and the speed of this machine (`Speed`). The times are those of the first steps:
 * answers change length as a model learns. If answer lengths are unknown, there are two times: for a typical length,
 * and for the max allowed.
 */
import { Docs } from "@atropos/core"
import type { DeviceKind } from "@atropos/trainer/exec/Executor"
import type { Model } from "@atropos/trainer/model/Model"
import type { TrainerSettings } from "@atropos/trainer/run/TrainerSettings"
import { totalmem } from "node:os"
import * as PlanLines from "../train/PlanLines.ts"
import * as MemoryCheck from "../train/MemoryCheck.ts"
import * as RemoteEngine from "../train/RemoteEngine.ts"
import * as AnswerLength from "./AnswerLength.ts"
import type * as Lengths from "./Lengths.ts"
import * as Speed from "./Speed.ts"

export interface Workload {
  readonly batchSize: number
  readonly groupSize: number
  readonly steps: number
  /** Max tokens of prompt and answer together, and of the answer. */
  readonly seqLen: number
  readonly maxTokenLength: number
  /** Max concurrent completions, in training and evaluation. */
  readonly rows: number
  readonly evaluationRows: number
  readonly updates: number
}

/** Assumed prompt and answer lengths in tokens if unknown. */
const usual = { prompt: 200, answer: 200 }

/** Tokens of a prompt, and equally likely answer lengths. */
export interface Expected {
  readonly prompt: number
  readonly answers: ReadonlyArray<number>
}

const mean = (values: ReadonlyArray<number>): number => values.reduce((sum, value) => sum + value, 0) / values.length

/** The expected rollouts: one entry if lengths are known, otherwise for typical and for max answers. */
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

/** Seconds to sample the completions, at most `rows` concurrently; finished ones free their rows. */
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

export const stepSeconds = (workload: Workload, speed: Speed.Speed, lengths: Expected): number => {
  const { batchSize, groupSize, rows, updates } = workload
  const prompts = ((batchSize / groupSize) * lengths.prompt) / speed.prompts
  const training = (batchSize * updates * (lengths.prompt + mean(lengths.answers))) / speed.training
  return prompts + samplingSeconds(batchSize, rows, lengths, speed) + training
}

export const heldOutSeconds = (workload: Workload, speed: Speed.Speed, items: number, lengths: Expected): number =>
  items === 0
    ? 0
    : (items * lengths.prompt) / speed.prompts + samplingSeconds(items, workload.evaluationRows, lengths, speed)

/** Prompt and mean answer together. */
export const lengthOf = ({ answers, prompt }: Expected): number => prompt + mean(answers)

/** Seconds of a whole run: its steps, and the evaluations before and after. */
const runSeconds = (workload: Workload, speed: Speed.Speed, items: number, lengths: Expected): number =>
  workload.steps * stepSeconds(workload, speed, lengths) + 2 * heldOutSeconds(workload, speed, items, lengths)

/** Max share of a run's time for evaluations between steps, and their max number. */
const evaluation = { share: 0.1, times: 10 }

/**
 * Steps between evaluations of the held-out items, so that they take at most a tenth of the time; undefined if that
 * means at most one per run.
 */
export const evaluateEvery = (steps: number, step: number, heldOut: number): number | undefined => {
  if (heldOut <= 0 || step <= 0) return undefined
  const every = Math.max(Math.ceil(heldOut / (evaluation.share * step)), Math.ceil(steps / evaluation.times))
  return every <= steps / 2 ? every : undefined
}

/** Seconds of a run above which advice is given. */
const longRun = 3600
/** Min prompts per batch in advice: fewer compare too little. */
const minGroups = 4
/** Relative time of a decoding step with 8-bit weights: measured 3.1 of 4.9 s (docs/models.md). */
const ofRounded = 0.65
/** Share of answers a shorter limit may truncate. */
const mayBeCut = 0.1

/** A limit that nearly all answers satisfy, if below the longest. */
const shorterLimit = (answers: ReadonlyArray<number>): number | undefined => {
  const sorted = answers.toSorted((a, b) => a - b)
  const kept = sorted[Math.ceil((1 - mayBeCut) * sorted.length) - 1] ?? 0
  const limit = 16 * Math.ceil(kept / 16)
  return limit > 0 && limit < (sorted.at(-1) ?? 0) ? limit : undefined
}

/** Changes that shorten a run, each with the resulting time. */
const advice = (
  { heldOutSetting, lengths: known, settings: { trainer }, device, speed, workload }: Described,
  lengths: Expected
): ReadonlyArray<PlanLines.Line> => {
  const items = known.heldOut
  const whole = (changed: Workload = workload, at = lengths, held = items, how = speed) =>
    time(runSeconds(changed, how, held, at))
  const limit = known.areCut || known.rollouts.length === 0 ? undefined : shorterLimit(lengths.answers)
  const groups = Math.max(minGroups, Math.round(workload.batchSize / workload.groupSize / 4))
  const batchSize = groups * workload.groupSize
  const fewer = { ...workload, batchSize, rows: Math.min(workload.rows, batchSize) }
  const decoding = { step: ofRounded * speed.decoding.step, row: ofRounded * speed.decoding.row }
  const canRound =
    device === "cpu" &&
    trainer.engine === RemoteEngine.local &&
    trainer.trains === "adapter" &&
    trainer.quantize === "none"
  const isAsking =
    2 * heldOutSeconds(workload, speed, items, lengths) > 0.1 * runSeconds(workload, speed, items, lengths)
  const fewItems = Math.ceil(items / 4)
  const steps = Math.ceil(workload.steps / 2)
  return [
    ...(limit === undefined
      ? []
      : [
          [
            `--env.max_token_length ${limit}`,
            `${whole(workload, { ...lengths, answers: lengths.answers.map((one) => Math.min(one, limit)) })} in total; one in ten answers would be truncated`
          ] as const
        ]),
    ...(batchSize < workload.batchSize ? [[`--batch_size ${batchSize}`, `${whole(fewer)} in total`] as const] : []),
    ...(canRound
      ? [["--quantize int8", `about ${whole(workload, lengths, items, { ...speed, decoding })} in total`] as const]
      : []),
    ...(isAsking && heldOutSetting !== undefined && fewItems < items
      ? [[`--env.${heldOutSetting} ${fewItems}`, `${whole(workload, lengths, fewItems)} in total`] as const]
      : []),
    ...(steps < workload.steps ? [[`--steps ${steps}`, `${whole({ ...workload, steps })} in total`] as const] : []),
    ["a smaller model", "time is proportional to the number of parameters"],
    ["a GPU", `${Docs.path("gpu.md")}; or sample on one: ${Docs.path("training.md")}, in separate processes`]
  ]
}

const { count, rate, span, time } = PlanLines

/** Describes the expected rollout lengths and their source. */
const lengthsLine = ({ areCut, prompt, rollouts }: Lengths.Lengths, [first]: ReadonlyArray<Expected>): string => {
  const items = `${rollouts.length} held-out ${rollouts.length === 1 ? "item" : "items"}`
  if (prompt === undefined) {
    return `unknown before the first step; assuming prompts of ${count(first!.prompt)} tokens`
  }
  const prompts = `prompts of ${count(Math.round(prompt))} tokens`
  return areCut || rollouts.length === 0
    ? `${prompts}; the model is too slow to measure its answers`
    : `${prompts} and answers of ${count(Math.round(mean(first!.answers)))}, measured on ${items}`
}

/** Cache limits of the sampler for the available memory. */
const cachesLine = (settings: Described["settings"], device: DeviceKind): PlanLines.Line => {
  const { kvMemoryMegabytes, prefixCacheMegabytes } = MemoryCheck.caches(MemoryCheck.memoryOf(settings.trainer, device))
  return ["caches", `KV cache up to ${count(kvMemoryMegabytes)} MiB, prefix cache ${count(prefixCacheMegabytes)} MiB`]
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
  /** Memory and computation of an engine that trains in a process of its own. */
  readonly elsewhere?: ReadonlyArray<PlanLines.Line> | undefined
  /** Load average during the trial. */
  readonly load: number
  /** The environment's setting for the number of held-out items. */
  readonly heldOutSetting?: string | undefined
  /** Chosen because unset: the environment's own max answer length, the number of steps. */
  readonly chosen?: { readonly maxTokenLength: number | undefined; readonly steps: boolean } | undefined
}

/** Describes the choices for this run with their reasons. */
const chosenLines = ({ chosen, lengths, settings, workload }: Described): ReadonlyArray<PlanLines.Line> => [
  ...(chosen?.maxTokenLength === undefined || chosen.maxTokenLength === workload.maxTokenLength
    ? []
    : [
        [
          "answers",
          `of up to ${count(workload.maxTokenLength)} tokens: ${AnswerLength.reason(lengths)} (--env.max_token_length; the environment allows ${count(chosen.maxTokenLength)})`
        ] as const
      ]),
  ...(chosen?.steps === true
    ? [
        [
          "steps",
          `${count(settings.trainer.trainingSteps)}, with a warm-up of ${count(settings.trainer.warmupSteps)}; fewer rarely show if a reward rises (--steps, --warmup_steps)`
        ] as const
      ]
    : [])
]

export const describe = (options: Described): ReadonlyArray<PlanLines.Line> => {
  const { device, elsewhere, expected, lengths, load, memory, model, settings, speed, workload } = options
  const { batchSize, maxTokenLength, rows, seqLen, steps } = workload
  const longest = expected.at(-1)!
  const isLimited = Math.floor(seqLen - longest.prompt) < maxTokenLength
  const step = expected.map((one) => stepSeconds(workload, speed, one))
  const heldOut = expected.map((one) => heldOutSeconds(workload, speed, lengths.heldOut, one))
  const isLong = step.at(-1)! * steps > longRun
  const every = evaluateEvery(steps, step[0]!, heldOut.at(-1)!)
  const answers = (one: Expected) => count(Math.round(mean(one.answers)))
  const there = device === "cpu" ? MemoryCheck.memoryOf(settings.trainer, device) : totalmem()
  return [
    ...PlanLines.model(model, settings.trainer),
    ["lengths", lengthsLine(lengths, expected)],
    ...chosenLines(options).filter(([name]) => name === "answers"),
    ...(isLimited
      ? [
          [
            chosenLines(options).some(([name]) => name === "answers") ? "" : "answers",
            `of up to ${count(maxTokenLength)} tokens (max_token_length), and at most ${count(seqLen)} with the prompt (seq_len)`
          ] as const
        ]
      : []),
    ...chosenLines(options).filter(([name]) => name !== "answers"),
    ...(elsewhere === undefined
      ? [PlanLines.memory(memory, "activations and KV cache", there), PlanLines.computing(model, settings, device)]
      : [PlanLines.memory(memory, "KV cache", there), ...elsewhere]),
    cachesLine(settings, device),
    [
      "measured",
      `sampling ${rate(rows / Speed.decodingSeconds(speed, rows))}, training ${rate(speed.training)} tokens/s${PlanLines.loadNote(load)}`
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
    ...(lengths.heldOut > 0
      ? [
          [
            "held out",
            every === undefined
              ? "only before and after training: in between they would take more than a tenth of the time"
              : `also every ${every === 1 ? "step" : `${count(every)} steps`}, at most a tenth of the time`
          ] as const
        ]
      : []),
    ...(isLong
      ? advice(options, longest).map(
          ([what, then], index) => [index === 0 ? "faster" : "", `${what}: ${then}`] as const
        )
      : [])
  ]
}
