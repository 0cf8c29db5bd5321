/**
 * Plans a run once its parts exist, and compares the plan with the first steps: wrong estimates are corrected and
 * reported.
 */
import type { Environment } from "@atropos/core"
import type { DeviceKind } from "@atropos/trainer/exec/Executor"
import type { Model } from "@atropos/trainer/model/Model"
import type { TrainerError } from "@atropos/trainer/learn/TrainerError"
import type { StepMetrics } from "@atropos/trainer/run/StepMetrics"
import type { Trainer } from "@atropos/trainer/run/Trainer"
import type { TrainerSettings } from "@atropos/trainer/run/TrainerSettings"
import { Console, Effect, Option } from "effect"
import * as Heartbeat from "../base/Heartbeat.ts"
import * as Summary from "../job/Summary.ts"
import * as PlanLines from "../train/PlanLines.ts"
import * as MemoryCheck from "../train/MemoryCheck.ts"
import * as AnswerLength from "./AnswerLength.ts"
import * as Lengths from "./Lengths.ts"
import * as Plan from "./Plan.ts"
import type { PromptTally } from "./PromptTally.ts"
import * as Speed from "./Speed.ts"

/** Number of steps compared, after the first, which prepares graphs. */
const lookedAt = 3
/** Relative deviation from the plan that is reported. */
const tolerance = 0.2
/** Memory that the service, batches and graphs of other sizes add during a run: 0.2 to 0.7 GB as measured. */
const gatheredBytes = 450e6

const mean = (values: ReadonlyArray<number>): number => values.reduce((sum, value) => sum + value, 0) / values.length

/** The workload of a step over all environments. */
const workloadOf = ({
  environments,
  settings: { trainer },
  steps
}: {
  readonly environments: ReadonlyArray<Environment.EnvironmentShape>
  readonly settings: TrainerSettings
  readonly steps: number
}): Plan.Workload => {
  const common = environments.map(({ settings }) => settings)
  const sum = (of: (settings: (typeof common)[number]) => number) => common.reduce((all, one) => all + of(one), 0)
  const running = sum(
    ({ groupSize, maxNumWorkers, maxNumWorkersPerNode }) =>
      groupSize * (maxNumWorkers >= 0 ? maxNumWorkers : maxNumWorkersPerNode)
  )
  return {
    steps,
    batchSize: trainer.batchSize,
    groupSize: sum(({ groupSize }) => groupSize) / common.length,
    seqLen: trainer.seqLen,
    maxTokenLength: Math.max(...common.map(({ maxTokenLength }) => maxTokenLength)),
    rows: Math.max(1, Math.min(trainer.batchSize, running, MemoryCheck.maxRows)),
    evaluationRows: Math.min(
      sum(({ maxEvalWorkers }) => maxEvalWorkers),
      MemoryCheck.maxRows
    ),
    updates: trainer.updatesPerBatch
  }
}

/** The setting of generated environments for the number of held-out items. */
const heldOutSetting = "evaluation_items"

/** Measures, chooses unset values, and prints the plan; the result must be called with every step. */
export const make = Effect.fn("Forecast.make")(function* (options: {
  readonly model: Model
  readonly trainer: Pick<Trainer, "measure">
  readonly environments: ReadonlyArray<Environment.EnvironmentShape>
  /** From the engine the environments use. */
  readonly prompts: PromptTally
  readonly settings: TrainerSettings
  readonly steps: number
  readonly device: DeviceKind
  /** Lines about an engine that trains in a process of its own; undefined if none does. */
  readonly elsewhere: (step: {
    readonly positions: number
    readonly tried: number
  }) => Effect.Effect<ReadonlyArray<PlanLines.Line> | undefined, TrainerError>
  /** The run's folder, and which of its settings are unset. */
  readonly folder: string
  readonly unset: { readonly answers: boolean; readonly steps: boolean; readonly evaluations: boolean }
  /** Sets the max answer length from now on, in tokens. */
  readonly limitAnswers: (tokens: number) => void
}) {
  const { device, environments, folder, limitAnswers, model, prompts, settings, unset } = options
  const request = workloadOf(options)
  const { batchSize, rows, seqLen } = request
  yield* Console.log("measuring the length of answers …")
  const lengths = yield* Lengths.look(environments, { seqLen, prompts }).pipe(
    Heartbeat.during("sampling a few held-out items")
  )
  const kept = unset.answers ? yield* AnswerLength.kept(folder) : Option.none<number>()
  const maxTokenLength = unset.answers
    ? Option.getOrElse(kept, () => AnswerLength.choose(lengths, request.maxTokenLength))
    : request.maxTokenLength
  if (unset.answers) {
    limitAnswers(maxTokenLength)
    yield* AnswerLength.keep(folder, maxTokenLength)
  }
  const workload = { ...request, maxTokenLength }
  yield* Console.log("measuring the sampling and training speed of this machine …")
  const expected = Plan.expected(workload, lengths)
  const [first] = expected
  const speed = yield* Speed.measure(model, options.trainer, {
    batchSize,
    groupSize: Math.max(1, Math.round(workload.groupSize)),
    seqLen,
    rows,
    prompt: first.prompt,
    answer: Plan.lengthOf(first) - first.prompt
  }).pipe(Heartbeat.during("timing a part of a step"))
  const { now, soFar } = PlanLines.memoryNow()
  const later = expected.map((one) => {
    const step = { batchSize, length: Plan.lengthOf(one), tried: speed.triedTokens }
    return Math.max(soFar, now + MemoryCheck.growth(model.config, settings, device, step) + gatheredBytes)
  })
  const positions = Math.max(...expected.map((one) => batchSize * Math.ceil(Plan.lengthOf(one))))
  const described = {
    model,
    settings,
    device,
    elsewhere: yield* options.elsewhere({ positions, tried: speed.triedTokens }),
    workload,
    lengths,
    expected,
    speed,
    memory: { now, later },
    load: PlanLines.loadNow(),
    heldOutSetting: environments.every(({ encodedSettings }) => heldOutSetting in encodedSettings)
      ? heldOutSetting
      : undefined,
    selected: { maxTokenLength: unset.answers ? request.maxTokenLength : undefined, steps: unset.steps }
  }
  yield* Console.log(`\n${Summary.print(Plan.describe(described))}\n`)
  const planned = expected.map((one) => Plan.stepSeconds(workload, speed, one))
  const taken: Array<number> = []
  let steps = 0
  const heldOut = Plan.heldOutSeconds(workload, speed, lengths.heldOut, expected.at(-1)!)
  const onStep = Effect.fnUntraced(function* ({ stepSeconds }: Pick<StepMetrics, "stepSeconds">) {
    const left = workload.steps - ++steps
    if (steps === 1 || taken.length >= lookedAt) return
    taken.push(stepSeconds)
    if (taken.length < lookedAt || left === 0) return
    const seconds = mean(taken)
    const isWithin = seconds >= (1 - tolerance) * planned[0]! && seconds <= (1 + tolerance) * planned.at(-1)!
    if (isWithin && planned.length === 1) return
    const was = planned.map(PlanLines.time).join(" to ")
    yield* Console.log(
      `${PlanLines.time(seconds)} a step (estimated ${was}): about ${PlanLines.time(seconds * left)} for the remaining ${left}`
    )
  })
  return {
    onStep,
    evaluateEvery: unset.evaluations ? Plan.evaluateEvery(workload.steps, planned[0]!, heldOut) : undefined
  }
})
