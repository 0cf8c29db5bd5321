/**
 * What a run on a model of one's own takes of memory, and how much of it caches may take: known from the model's
 * configuration and what `--memory` allows, before its weights are read. A run that cannot fit is refused with what
 * would.
 *
 * The machine's memory decides (or what its container may take), not what is free at the moment: a run is built in the
 * same way when it is resumed.
 */
import type { DeviceKind } from "@atropos/trainer/exec/Executor"
import * as KvShape from "@atropos/trainer/engine/KvShape"
import * as MemoryPlan from "@atropos/trainer/local/MemoryPlan"
import * as Lora from "@atropos/trainer/model/Lora"
import type { Model } from "@atropos/trainer/model/Model"
import * as QuantizedWeights from "@atropos/trainer/model/QuantizedWeights"
import * as Tensors from "@atropos/trainer/model/Tensors"
import type { TrainerSettings } from "@atropos/trainer/run/TrainerSettings"

/** Of the process without a model: the service, its database, the command. */
export const processBytes = 600e6

export const mebibyte = 2 ** 20

/** Completions that are sampled at once. */
export const maxRows = 128

/** Limits of the engine's caches: as usual, or an eighth and a thirty-second of the memory. */
export const caches = (memory: number) => ({
  kvMemoryMegabytes: Math.max(64, Math.min(2048, Math.floor(memory / 8 / mebibyte))),
  prefixCacheMegabytes: Math.min(512, Math.floor(memory / 32 / mebibyte))
})

/** Bytes. */
export interface Needs {
  /** Frozen weights, as training and sampling read them: a file that is mapped once. */
  readonly weights: number
  /** The engine's copy, in the order that products read. */
  readonly rearranged: number
  /** Activations, logits and optimizer. */
  readonly training: number
  /** Keys and values, at most. */
  readonly caches: number
  readonly all: number
}

type ModelConfig = Model["config"]
type Settings = Pick<TrainerSettings, "lora" | "trainer">

/** What the frozen weights are, as graphs read them. */
export const frozenOf = (config: ModelConfig, quantize: "none" | QuantizedWeights.Kind) => {
  let bytes = 0
  let largest = 0
  for (const { name, shape } of Tensors.all(config)) {
    const elements = shape.reduce((product, size) => product * size, 1)
    const isRounded = quantize !== "none" && QuantizedWeights.isRounded(name, shape)
    if (isRounded) largest = Math.max(largest, elements)
    bytes += isRounded ? QuantizedWeights.bytesOf(elements, quantize) : 4 * elements
  }
  return { bytes, largest }
}

/** Bytes that the process may take: what it is told, or what is there. */
export const memoryOf = ({ memory }: Pick<Settings["trainer"], "memory">, device: DeviceKind): number =>
  memory === null ? MemoryPlan.memoryBytes(device) : memory * 2 ** 30

/** What a run computes at once, and how. */
export interface Computing {
  /** Most positions of a micro-batch, padding included. */
  readonly tokens: number
  readonly plan: MemoryPlan.Plan
  readonly workload: Omit<MemoryPlan.Workload, "tokens">
}

/** What is told to be computed again. */
const rematOf = ({ remat }: Pick<Settings["trainer"], "remat">): MemoryPlan.Plan["remat"] | undefined =>
  remat === "auto" ? undefined : remat === "none" ? false : remat

/** As the learner of this machine is going to be built. */
export const computing = (
  config: ModelConfig,
  { trainer }: Pick<Settings, "trainer">,
  device: DeviceKind,
  memory = memoryOf(trainer, device)
): Computing => {
  const rowLength = Math.min(trainer.seqLen, config.maxPositions)
  const rounded = trainer.quantize === "none" ? {} : { rounded: frozenOf(config, trainer.quantize) }
  const workload = { shape: config, rowLength, ...rounded }
  const tokens = Math.max(rowLength, trainer.tokenBudget ?? MemoryPlan.tokensFor(workload, device, memory))
  return { tokens, workload, plan: MemoryPlan.choose({ ...workload, tokens }, device, memory, rematOf(trainer)) }
}

/** What a run takes at most; `isSampled`: with the engine that samples in the same process. */
export const needs = (
  config: ModelConfig,
  settings: Settings,
  device: DeviceKind,
  memory = memoryOf(settings.trainer, device),
  isSampled = true
): Needs => {
  const { lora, trainer } = settings
  const isWhole = trainer.trains === "all"
  const { bytes } = frozenOf(config, isWhole ? "none" : trainer.quantize)
  const { plan, tokens, workload } = computing(config, settings, device, memory)
  // Loading refuses an adapter that the model cannot have.
  const adapted = Lora.problemOf(lora, config) === undefined ? Lora.layout(config, lora).size : 0
  const trained = isWhole ? bytes / 4 : adapted
  const peak = MemoryPlan.peakBytes({ ...workload, tokens }, plan, trained)
  const { kvMemoryMegabytes, prefixCacheMegabytes } = caches(memory)
  const cached = isSampled ? (kvMemoryMegabytes + prefixCacheMegabytes) * mebibyte : 0
  const rearranged = isSampled ? bytes : 0
  return {
    weights: bytes,
    rearranged,
    training: peak - bytes,
    caches: cached,
    all: processBytes + rearranged + peak + cached
  }
}

/** Changes that take less, in the order of what they cost. */
const changes = ({ trainer }: Settings): ReadonlyArray<readonly [string, Partial<Settings["trainer"]>]> => {
  const shorter = [2, 4, 8].map((part) => Math.floor(trainer.seqLen / part)).filter((length) => length >= 512)
  return [
    ...(trainer.trains === "all" ? [["--trains adapter", { trains: "adapter" }] as const] : []),
    ...(trainer.remat === "none" || trainer.remat === "elements"
      ? [["--remat parts", { remat: "parts" }] as const]
      : []),
    ...(trainer.tokenBudget !== null && trainer.tokenBudget > trainer.seqLen
      ? [[`--token_budget ${trainer.seqLen}`, { tokenBudget: trainer.seqLen }] as const]
      : []),
    ...(["int8", "int4"] as const)
      .filter((kind) => kind !== trainer.quantize && trainer.quantize !== "int4")
      .map((quantize) => [`--quantize ${quantize}`, { quantize, trains: "adapter" }] as const),
    ...shorter.map((seqLen) => [`--seq_len ${seqLen}`, { seqLen }] as const),
    ...shorter.map(
      (seqLen) => [`--quantize int4 --seq_len ${seqLen}`, { quantize: "int4", trains: "adapter", seqLen }] as const
    )
  ]
}

export const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`

/** The end of a refusal: the cheapest of what fits. */
export const wouldFit = (fitting: ReadonlyArray<string>): string =>
  `${fitting.length === 0 ? "a smaller model would" : `${fitting.slice(0, 3).join(", or ")} would`} fit`

/** Why a run cannot fit, and what would; undefined where it does. */
export const problem = (
  config: ModelConfig,
  settings: Settings,
  device: DeviceKind,
  memory = memoryOf(settings.trainer, device),
  isSampled = true
): string | undefined => {
  // How much a GPU has is not known.
  if (device !== "cpu") return undefined
  const { all, caches: keys, rearranged, training, weights } = needs(config, settings, device, memory, isSampled)
  if (all <= memory) return undefined
  const fitting = changes(settings).flatMap(([flags, changed]) => {
    const less = needs(config, { ...settings, trainer: { ...settings.trainer, ...changed } }, device, memory, isSampled)
    return less.all <= memory ? [`${flags} (${gigabytes(less.all)})`] : []
  })
  return (
    `${settings.trainer.model} with rows of ${settings.trainer.seqLen.toLocaleString("en-US")} tokens (seq_len) takes ${gigabytes(all)}, and ${settings.trainer.memory === null ? "this machine has" : "memory allows"} ${gigabytes(memory)}: ` +
    [
      `weights ${gigabytes(weights)}`,
      ...(isSampled ? [`rearranged for sampling ${gigabytes(rearranged)}`] : []),
      `training ${gigabytes(training)}`,
      ...(isSampled ? [`keys and values up to ${gigabytes(keys)}`] : [])
    ].join(", ") +
    `; ${wouldFit(fitting)}`
  )
}

/** Sizes of a step. */
export interface Step {
  readonly batchSize: number
  /** Prompt and answer together, tokens. */
  readonly length: number
  /** Positions of the micro-batch that was tried before the step. */
  readonly tried: number
}

/**
 * Bytes that a step takes beyond what the process had when a small one had been tried; `isSampled`: with the keys and
 * values of its answers.
 */
export const growth = (
  config: ModelConfig,
  settings: Pick<Settings, "trainer">,
  device: DeviceKind,
  { batchSize, length, tried }: Step,
  isSampled = true
): number => {
  const memory = memoryOf(settings.trainer, device)
  const { plan, tokens: most, workload } = computing(config, settings, device, memory)
  const takes = (tokens: number) => MemoryPlan.peakBytes({ ...workload, tokens }, plan, 0)
  const positions = Math.min(most, batchSize * length)
  const activations = Math.max(0, takes(positions) - takes(Math.min(tried, positions)))
  if (!isSampled) return activations
  const shape = KvShape.shapeOf(config)
  const { kvMemoryMegabytes, prefixCacheMegabytes } = caches(memory)
  const keys = KvShape.bytesFor(shape, Array<number>(batchSize).fill(length))
  return activations + Math.min(keys, kvMemoryMegabytes * mebibyte) + Math.min(keys, prefixCacheMegabytes * mebibyte)
}
