/** Formats the common lines of the plans of `up` and `train`: model, memory and computation. */
import type { DeviceKind } from "@atropos/trainer/exec/Executor"
import type { Model } from "@atropos/trainer/model/Model"
import * as Tensors from "@atropos/trainer/model/Tensors"
import * as TrainerSettings from "@atropos/trainer/run/TrainerSettings"
import { availableParallelism, loadavg, totalmem } from "node:os"
import * as Summary from "../job/Summary.ts"
import * as MemoryCheck from "./MemoryCheck.ts"

export type Line = readonly [name: string, value: string]

export const count = (value: number): string => value.toLocaleString("en-US")
export const time = (seconds: number): string => Summary.time(1000 * seconds)
export const rate = (value: number): string => (value < 10 ? value.toPrecision(2) : count(Math.round(value)))

export const span = (values: ReadonlyArray<string>): string => [...new Set(values)].join(" to ")

/** Parameters of the whole model, without an adapter. */
const parametersOf = ({ config }: Model): number =>
  Tensors.all(config).reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0)

/** The learning rate, and why if it was chosen. */
export const learningRate = (trainer: TrainerSettings.TrainerFields, hiddenSize: number): string => {
  const rate = TrainerSettings.learningRate(trainer)
  const why =
    rate === TrainerSettings.suitedLearningRate(trainer, hiddenSize)
      ? ` (for a hidden size of ${count(hiddenSize)}; --lr)`
      : ""
  return `learning rate ${rate}${why}`
}

/** The model, and which part of it is trained. */
export const model = (model: Model, trainer: TrainerSettings.TrainerFields): ReadonlyArray<Line> => {
  const { adapter, layout, name } = model
  const kind = adapter === undefined ? "all weights" : `an adapter of rank ${adapter.r}`
  return [
    ["model", `${name}, ${count(parametersOf(model))} parameters`],
    ["trained", `${kind}: ${count(layout.size)} parameters, ${learningRate(trainer, model.config.hiddenSize)}`]
  ]
}

/** Process memory in bytes: current, and peak of a step for each expectation. */
export interface Memory {
  readonly now: number
  readonly later: ReadonlyArray<number>
}

export const memoryNow = () => ({ now: process.memoryUsage.rss(), soFar: 1024 * process.resourceUsage().maxRSS })

export const memory = ({ later, now }: Memory, what: string, there = totalmem()): Line => [
  "memory",
  `${MemoryCheck.gigabytes(now)} of ${MemoryCheck.gigabytes(there)} used, ${span(later.map(MemoryCheck.gigabytes))} at the peak: ${what}`
]

const again = {
  nothing: "no recomputation",
  elements: "activations between matmuls are recomputed",
  parts: "attention and feed-forward blocks are recomputed"
} as const

/** Sizes and methods chosen for the available memory, and threads. */
export const computing = (
  { config }: Pick<Model, "config">,
  settings: Pick<TrainerSettings.TrainerSettings, "trainer">,
  device: DeviceKind
): Line => {
  const { plan, tokenBudget } = MemoryCheck.computing(config, settings, device)
  const threads = settings.trainer.threads || availableParallelism()
  return [
    "computing",
    [
      `up to ${count(tokenBudget)} tokens (token_budget)`,
      `${again[plan.remat === false ? "nothing" : plan.remat]} (remat)`,
      ...(device === "cpu" ? [`${threads} ${threads === 1 ? "thread" : "threads"}`] : [])
    ].join(", ")
  ]
}

/** Load per core above which measurements are unreliable. */
const busy = 2

/** Load average, including this process's threads; 0 if unknown. */
export const loadNow = (): number => loadavg()[0] ?? 0

/** A caveat for measurements taken under load from other programs. */
export const loadNote = (load: number): string =>
  load > busy * availableParallelism() ? `; other programs are running (load ${load.toFixed(0)}), so these are low` : ""
