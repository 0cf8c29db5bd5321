/**
 * Formats the plan's lines about PyTorch's processes: what they compute with, and the memory that they took in a trial
 * and will take at the peak. What was never run is stated.
 */
import { Docs } from "@atropos/core"
import type { TrainerError } from "@atropos/trainer/learn/TrainerError"
import * as MemoryPlan from "@atropos/trainer/local/MemoryPlan"
import type { Outline } from "@atropos/trainer/model/PretrainedModel"
import type * as TrainerSettings from "@atropos/trainer/run/TrainerSettings"
import type { Usage } from "@atropos/trainer/torch/TorchEngine"
import * as TorchMemory from "@atropos/trainer/torch/TorchMemory"
import { Effect } from "effect"
import * as MemoryCheck from "./MemoryCheck.ts"
import * as PlanLines from "./PlanLines.ts"
import type * as Trial from "./Trial.ts"

type Sizes = Outline["config"]

const { count } = PlanLines

export const model = (
  { config: { hiddenSize, parameters }, name }: Pick<Outline, "config" | "name">,
  { lora, trainer }: Pick<TrainerSettings.TrainerSettings, "lora" | "trainer">,
  { loaded }: Usage
): ReadonlyArray<PlanLines.Line> => {
  const what = trainer.trains === "all" ? "all weights" : `an adapter of rank ${lora.r}`
  return [
    ["model", parameters === undefined ? name : `${name}, ${count(parameters)} parameters`],
    [
      "trained",
      `${what}${loaded === undefined ? "" : `: ${count(loaded.trained)} parameters`}, ${PlanLines.learningRate(trainer, hiddenSize)}`
    ]
  ]
}

/** Bytes of each process at the peak of a step, whose micro-batches have so many positions instead of the trial's. */
const peakOf = ({ loaded, peaks }: Usage, sizes: Sizes, positions: number, tried: number): number => {
  const max = Math.max(...peaks)
  if (loaded === undefined) return max
  const kind = { isHalf: loaded.dtype === "bfloat16", recomputes: loaded.recomputes }
  const takes = (each: number) => TorchMemory.activations(sizes, kind, each)
  return max + Math.max(0, takes(positions) - takes(Math.min(tried, positions)))
}

/**
 * Memory and computation. `step`: positions that a whole step computes, and those of the trial before it; `available`:
 * bytes of this machine's memory for PyTorch, if it computes on the CPU.
 */
export const computing = (
  usage: Usage,
  sizes: Sizes,
  step: { readonly positions: number; readonly tried: number },
  available = MemoryPlan.memoryBytes("cpu")
): ReadonlyArray<PlanLines.Line> => {
  const { device, loaded, memory, peaks, positions, ranks, torch } = usage
  const isCpu = memory === null
  const max = Math.min(positions, Math.ceil(step.positions / ranks))
  const peak = (isCpu ? ranks : 1) * peakOf(usage, sizes, max, Math.ceil(step.tried / ranks))
  const there = memory ?? available
  const soFar = isCpu ? peaks.reduce((sum, one) => sum + one, 0) : Math.max(...peaks)
  const each = ranks > 1 && !isCpu ? " each" : ""
  const processes = ranks === 1 ? "a process" : `${ranks} processes`
  return [
    ["engine", `PyTorch ${torch} in ${processes} on ${isCpu ? "the CPU" : device}, ${loaded?.dtype ?? "not loaded"}`],
    [
      "memory",
      `of PyTorch${each}: ${MemoryCheck.gigabytes(soFar)} of ${MemoryCheck.gigabytes(there)} in a trial, about ${MemoryCheck.gigabytes(peak)} at the peak: activations of full micro-batches` +
        (peak > there
          ? "; micro-batches will be halved when memory is full: set --remat or a lower --token_budget"
          : "")
    ],
    [
      "computing",
      `up to ${count(positions)} positions (token_budget), ${loaded?.recomputes === true ? "layers are recomputed" : "no recomputation"} (remat)`
    ],
    ...(isCpu
      ? []
      : [
          [
            "not run",
            `before this release on any GPU: compare the first steps with the CPU (${Docs.path("engines.md")})`
          ] as const
        ])
  ]
}

/** Lines of `train`'s plan. */
export const describe =
  (
    usage: Effect.Effect<Usage, TrainerError>,
    outline: Pick<Outline, "config" | "name">,
    settings: Pick<TrainerSettings.TrainerSettings, "lora" | "trainer">
  ) =>
  ({ tokens }: Trial.Trial) =>
    Effect.map(usage, (used) => {
      const { batchSize, seqLen } = settings.trainer
      const step = { positions: batchSize * Math.max(1, seqLen - 1), tried: tokens }
      return { model: model(outline, settings, used), computing: computing(used, outline.config, step) }
    })
