/**
 * Prints the plan of a `train` run before its first step: model, memory, computation, and the time of a step with
 * sequences of max length; and again for the lengths of the first batch. Rollouts come from elsewhere at an unknown
 * speed: the times cover training only.
 */
import type { Batch } from "@atropos/core"
import type { DeviceKind } from "@atropos/trainer/exec/Executor"
import type { Model } from "@atropos/trainer/model/Model"
import type { TrainerError } from "@atropos/trainer/learn/TrainerError"
import type { Trainer } from "@atropos/trainer/run/Trainer"
import type { TrainerSettings } from "@atropos/trainer/run/TrainerSettings"
import { Console, Effect } from "effect"
import { totalmem } from "node:os"
import * as Summary from "../job/Summary.ts"
import * as PlanLines from "./PlanLines.ts"
import * as MemoryCheck from "./MemoryCheck.ts"
import * as Trial from "./Trial.ts"

/** The plan's lines about an engine, after its trial. */
export interface Described {
  readonly model: ReadonlyArray<PlanLines.Line>
  /** Memory and computation. */
  readonly computing: ReadonlyArray<PlanLines.Line>
}

export interface Options {
  readonly trainer: Pick<Trainer, "isSettled" | "measure">
  readonly settings: TrainerSettings
  readonly steps: number
  readonly describe: (trial: Trial.Trial) => Effect.Effect<Described, TrainerError>
}

/** Max seconds for repeating the trial at the first batch's lengths; a slower trial is reused instead. */
const patience = 8

/** Total tokens of a batch, and trained ones. */
export interface Lengths {
  readonly sequences: number
  readonly tokens: number
  readonly trained: number
}

/** Lengths capped at `seqLen`: longer sequences are truncated or skipped. */
export const lengthsOf = ({ groups }: Pick<Batch.Batch, "groups">, seqLen: number): Lengths => {
  let [sequences, tokens, trained] = [0, 0, 0]
  for (const { masks, tokens: ofGroup } of groups) {
    for (const [at, sequence] of ofGroup.entries()) {
      const length = Math.min(sequence.length, seqLen)
      sequences++
      tokens += length
      for (const isTrained of masks[at]?.subarray(0, length) ?? []) trained += isTrained
    }
  }
  const each = Math.max(1, sequences)
  return { sequences, tokens: tokens / each, trained: trained / each }
}

/** Seconds of a step: a sequence of n tokens computes n - 1 positions per update. */
const stepSeconds = (sequences: number, tokens: number, trial: Trial.Trial, { updatesPerBatch }: Updates): number =>
  (sequences * updatesPerBatch * Math.max(1, tokens - 1)) / Trial.rate(trial)
type Updates = Pick<TrainerSettings["trainer"], "updatesPerBatch">

/** Lines about the engine of this process. */
export const local =
  ({
    device,
    model,
    settings
  }: {
    readonly model: Model
    readonly settings: TrainerSettings
    readonly device: DeviceKind
  }) =>
  ({ tokens }: Trial.Trial): Effect.Effect<Described> =>
    Effect.sync(() => {
      const { trainer } = settings
      const { now, soFar } = PlanLines.memoryNow()
      const step = { batchSize: trainer.batchSize, length: trainer.seqLen, tried: tokens }
      const later = Math.max(soFar, now + MemoryCheck.growth(model.config, settings, device, step, false))
      const there = device === "cpu" ? MemoryCheck.memoryOf(trainer, device) : totalmem()
      return {
        model: PlanLines.model(model, trainer),
        computing: [
          PlanLines.memory({ now, later: [later] }, "activations of full micro-batches", there),
          PlanLines.computing(model, settings, device)
        ]
      }
    })

/** The plan as pairs, before the first batch. */
export const linesOf = (
  { settings: { trainer }, steps }: Pick<Options, "settings" | "steps">,
  trial: Trial.Trial,
  described: Described,
  load: number
): ReadonlyArray<PlanLines.Line> => {
  const seconds = stepSeconds(trainer.batchSize, trainer.seqLen, trial, trainer)
  return [
    ...described.model,
    ...described.computing,
    ["measured", `training ${PlanLines.rate(Trial.rate(trial))} tokens/s${PlanLines.loadNote(load)}`],
    [
      "a step",
      `${PlanLines.count(trainer.batchSize)} sequences: ${PlanLines.time(seconds)} if all have the max length of ${PlanLines.count(trainer.seqLen)} tokens (seq_len)`
    ],
    [
      `${PlanLines.count(steps)} ${steps === 1 ? "step" : "steps"}`,
      `${PlanLines.time(steps * seconds)} then, plus time spent waiting for rollouts; the first batch gives a better estimate`
    ]
  ]
}

const round = (value: number): string => PlanLines.count(Math.round(value))

/** The plan for the first batch's lengths. */
export const ofFirst = (
  { sequences, tokens, trained }: Lengths,
  trial: Trial.Trial,
  { settings, steps }: Pick<Options, "settings" | "steps">
): string => {
  const seconds = stepSeconds(sequences, tokens, trial, settings.trainer)
  return (
    `the first batch has ${round(sequences)} sequences of ${round(tokens)} tokens on average, ${round(trained)} of them trained: ` +
    `${PlanLines.time(seconds)} to train such a step, ${PlanLines.time(steps * seconds)} for ${steps === 1 ? "the one" : `the ${round(steps)}`} left, plus time spent waiting for rollouts`
  )
}

/** Runs a trial and prints the plan; the result must be called with every batch before its step. */
export const make = Effect.fn("TrainPlan.make")(function* (options: Options) {
  const { describe, settings, trainer } = options
  const { batchSize, seqLen } = settings.trainer
  yield* Console.log("measuring the training speed of this machine …")
  const trial = yield* Trial.run(trainer, { batchSize, whole: Math.max(1, seqLen - 1), share: 1 })
  const lines = linesOf(options, trial, yield* describe(trial), PlanLines.loadNow())
  yield* Console.log(`\n${Summary.print(lines)}\n`)
  let isTold = false
  return Effect.fnUntraced(function* (batch: Batch.Batch) {
    if (isTold || trainer.isSettled(batch)) return
    isTold = true
    const lengths = lengthsOf(batch, seqLen)
    const { sequences, tokens, trained } = lengths
    if (trained === 0) return
    const whole = Math.max(1, Math.round(tokens) - 1)
    const again =
      trial.seconds > patience
        ? trial
        : yield* Trial.run(trainer, { batchSize: sequences, whole, share: Math.min(1, trained / whole) })
    yield* Console.log(ofFirst(lengths, again, options))
  })
})
