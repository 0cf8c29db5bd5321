/**
 * Estimates the memory of a run on a custom model, and sizes its caches, from the model's configuration and `--memory`,
 * before weights are read. A run that cannot fit is refused, with changes that would fit. Counts the total memory of
 * the machine or container rather than the free one, so that a resumed run is built in the same way.
 */
import type { DeviceKind } from "@atropos/trainer/exec/Executor"
import * as KvShape from "@atropos/trainer/engine/cache/KvShape"
import * as MemoryPlan from "@atropos/trainer/local/MemoryPlan"
import * as Lora from "@atropos/trainer/model/Lora"
import type { Model } from "@atropos/trainer/model/Model"
import * as QuantizedWeights from "@atropos/trainer/model/QuantizedWeights"
import * as Tensors from "@atropos/trainer/model/Tensors"
import type { TrainerSettings } from "@atropos/trainer/run/TrainerSettings"
import * as RemoteEngine from "./RemoteEngine.ts"

/** Memory of the process without a model: the service, its database, the command. */
export const processBytes = 600e6

export const mebibyte = 2 ** 20

/** Max concurrently sampled completions. */
export const maxRows = 128

/** Cache limits: at most the defaults, an eighth and a thirty-second of the memory. */
export const caches = (memory: number) => ({
  kvMemoryMegabytes: Math.max(64, Math.min(2048, Math.floor(memory / 8 / mebibyte))),
  prefixCacheMegabytes: Math.min(512, Math.floor(memory / 32 / mebibyte))
})

/** In bytes. */
export interface Needs {
  /** Frozen weights, for training and sampling: a file mapped once. */
  readonly weights: number
  /** The engine's copy, in the layout of matmuls. */
  readonly rearranged: number
  /** Activations, logits and optimizer. */
  readonly training: number
  /** Max KV-cache. */
  readonly caches: number
  readonly all: number
}

type ModelConfig = Model["config"]
type Settings = Pick<TrainerSettings, "lora" | "trainer">

/** Sizes of the frozen weights as graphs read them. */
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

/** Bytes the process may use: configured, otherwise the available memory. */
export const memoryOf = ({ memory }: Pick<Settings["trainer"], "memory">, device: DeviceKind): number =>
  memory === null ? MemoryPlan.memoryBytes(device) : memory * 2 ** 30

export interface Computing {
  /** Positions of a micro-batch of several rows. */
  readonly tokenBudget: number
  /** Positions of the largest micro-batch, which may be one long row. */
  readonly tokens: number
  readonly plan: MemoryPlan.Plan
  readonly workload: Omit<MemoryPlan.Workload, "tokens">
}

const rematOf = ({ remat }: Pick<Settings["trainer"], "remat">): MemoryPlan.Plan["remat"] | undefined =>
  remat === "auto" ? undefined : remat === "none" ? false : remat

/** Matches the local learner's own choices. */
export const computing = (
  config: ModelConfig,
  { trainer }: Pick<Settings, "trainer">,
  device: DeviceKind,
  memory = memoryOf(trainer, device)
): Computing => {
  const rowLength = MemoryPlan.rowLengthFor(Math.min(trainer.seqLen, config.maxPositions), device, false)
  const rounded = trainer.quantize === "none" ? {} : { rounded: frozenOf(config, trainer.quantize) }
  const workload = { shape: config, rowLength, ...rounded }
  const tokenBudget = trainer.tokenBudget ?? MemoryPlan.tokensFor(workload, device, memory)
  const tokens = Math.max(rowLength, tokenBudget)
  return {
    tokenBudget,
    tokens,
    workload,
    plan: MemoryPlan.choose({ ...workload, tokens }, device, memory, rematOf(trainer))
  }
}

/** True if PyTorch trains: a separate process, with its own memory. */
const isElsewhere = ({ engine }: Settings["trainer"]): boolean => engine === RemoteEngine.torch

/** Peak memory of a run in this process; `isSampled`: including a sampling engine. */
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
  // Loading rejects an adapter that does not fit the model.
  const adapted = Lora.problemOf(lora, config) === undefined ? Lora.layout(config, lora).size : 0
  const trained = isWhole ? bytes / 4 : adapted
  const peak = isElsewhere(trainer) ? bytes : MemoryPlan.peakBytes({ ...workload, tokens }, plan, trained)
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

/** Changes that reduce memory, cheapest first. */
const changes = ({ trainer }: Settings): ReadonlyArray<readonly [string, Partial<Settings["trainer"]>]> => {
  // Sampling only: its caches adapt to the memory, and weights are not quantized.
  if (isElsewhere(trainer)) return []
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

/** The end of a refusal: the cheapest changes that fit. */
export const wouldFit = (fitting: ReadonlyArray<string>): string =>
  `${fitting.length === 0 ? "a smaller model would" : `${fitting.slice(0, 3).join(", or ")} would`} fit`

/** Describes why a run cannot fit and which changes would; undefined if it fits. */
export const problem = (
  config: ModelConfig,
  settings: Settings,
  device: DeviceKind,
  memory = memoryOf(settings.trainer, device),
  isSampled = true
): string | undefined => {
  // The memory of a GPU is unknown.
  if (device !== "cpu") return undefined
  const { all, caches: keys, rearranged, training, weights } = needs(config, settings, device, memory, isSampled)
  if (all <= memory) return undefined
  const fitting = changes(settings).flatMap(([flags, changed]) => {
    const less = needs(config, { ...settings, trainer: { ...settings.trainer, ...changed } }, device, memory, isSampled)
    return less.all <= memory ? [`${flags} (${gigabytes(less.all)})`] : []
  })
  return (
    `${settings.trainer.model} ${isElsewhere(settings.trainer) ? "as sampler" : `with rows of ${settings.trainer.seqLen.toLocaleString("en-US")} tokens (seq_len)`} takes ${gigabytes(all)}, and ${settings.trainer.memory === null ? "this machine has" : "memory allows"} ${gigabytes(memory)}: ` +
    [
      `weights ${gigabytes(weights)}`,
      ...(isSampled ? [`copy for sampling ${gigabytes(rearranged)}`] : []),
      ...(isElsewhere(settings.trainer) ? [] : [`training ${gigabytes(training)}`]),
      ...(isSampled ? [`KV cache up to ${gigabytes(keys)}`] : [])
    ].join(", ") +
    `; ${wouldFit(fitting)}`
  )
}

export interface Step {
  readonly batchSize: number
  /** Prompt and answer together, in tokens. */
  readonly length: number
  /** Positions of the trial micro-batch before the step. */
  readonly tried: number
}

/** Bytes a step adds to the memory after the trial; `isSampled`: including the KV-cache of its answers. */
export const growth = (
  config: ModelConfig,
  settings: Pick<Settings, "trainer">,
  device: DeviceKind,
  { batchSize, length, tried }: Step,
  isSampled = true
): number => {
  const memory = memoryOf(settings.trainer, device)
  const { plan, tokenBudget, workload } = computing(config, settings, device, memory)
  const takes = (tokens: number) => MemoryPlan.peakBytes({ ...workload, tokens }, plan, 0)
  const positions = Math.min(Math.max(tokenBudget, length), batchSize * length)
  const activations = isElsewhere(settings.trainer)
    ? 0
    : Math.max(0, takes(positions) - takes(Math.min(tried, positions)))
  if (!isSampled) return activations
  const shape = KvShape.shapeOf(config)
  const { kvMemoryMegabytes, prefixCacheMegabytes } = caches(memory)
  const keys = KvShape.bytesFor(shape, Array<number>(batchSize).fill(length))
  return activations + Math.min(keys, kvMemoryMegabytes * mebibyte) + Math.min(keys, prefixCacheMegabytes * mebibyte)
}
