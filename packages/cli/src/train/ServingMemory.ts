/**
 * Estimates the memory of a served model (`policy`, `tinker`), and sizes its caches, from its configuration before its
 * weights are read. A model that cannot fit is refused, with changes that would fit.
 */
import * as MemoryPlan from "@atropos/trainer/local/MemoryPlan"
import type { DeviceKind } from "@atropos/trainer/exec/Executor"
import * as Lora from "@atropos/trainer/model/Lora"
import type { Model } from "@atropos/trainer/model/Model"
import { ModelError } from "@atropos/trainer/model/file/ModelError"
import type * as QuantizedWeights from "@atropos/trainer/model/QuantizedWeights"
import { Effect, Option } from "effect"
import * as EngineFlags from "../config/EngineFlags.ts"
import * as MemoryCheck from "./MemoryCheck.ts"

type ModelConfig = Model["config"]

export interface Given {
  /** In GiB. */
  readonly memory: Option.Option<number>
  readonly kvMemoryMegabytes: Option.Option<number>
  readonly prefixCacheMegabytes: Option.Option<number>
}

export interface Serving {
  readonly device: DeviceKind
  readonly quantize: "none" | QuantizedWeights.Kind
  readonly maxRows: number
  /** Bytes the process may use, and whether that was set explicitly. */
  readonly memory: number
  readonly isMemoryTold: boolean
  readonly caches: { readonly kvMemoryMegabytes: number; readonly prefixCacheMegabytes: number }
  /**
   * If adapters are trained too: positions of a micro-batch (null: what the device computes fastest), and the adapter
   * rank to account for.
   */
  readonly training?: { readonly tokenBudget: number | null; readonly maxRank: number } | undefined
  readonly separator: EngineFlags.Separator
}

/** Cache limits, and the memory they are based on. */
export const choose = (input: Given, device: DeviceKind): Pick<Serving, "caches" | "isMemoryTold" | "memory"> => {
  const memory = MemoryCheck.memoryOf({ memory: Option.getOrNull(input.memory) }, device)
  const defaults = MemoryCheck.caches(memory)
  return {
    memory,
    isMemoryTold: Option.isSome(input.memory),
    caches: {
      kvMemoryMegabytes: Option.getOrElse(input.kvMemoryMegabytes, () => defaults.kvMemoryMegabytes),
      prefixCacheMegabytes: Option.getOrElse(input.prefixCacheMegabytes, () => defaults.prefixCacheMegabytes)
    }
  }
}

/** Memory of a graph that trains an adapter of every linear layer, without the weights. */
const trainingBytes = (config: ModelConfig, { device, memory, training }: Serving): number => {
  if (training === undefined) return 0
  const { maxRank, tokenBudget } = training
  const workload = MemoryPlan.ofAnyLength(config, tokenBudget, device, memory)
  const plan = { ...MemoryPlan.choose(workload, device, memory), prepack: false }
  const adapter = { r: maxRank, alpha: maxRank, rslora: false, targetModules: ["all-linear"] }
  const trained = Lora.problemOf(adapter, config) === undefined ? Lora.layout(config, adapter).size : 0
  return MemoryPlan.peakBytes(workload, plan, trained) - MemoryPlan.heldBytes(workload)
}

export const needs = (config: ModelConfig, serving: Serving): MemoryCheck.Needs => {
  const { caches, maxRows, quantize } = serving
  const rearranged = MemoryCheck.frozenOf(config, quantize).bytes
  // After rearranging, matrices are no longer read from their file; embeddings are, and everything that training graphs
  // use.
  const weights = serving.training === undefined ? 4 * config.vocabSize * config.hiddenSize : rearranged
  const training = trainingBytes(config, serving)
  const cached = (caches.kvMemoryMegabytes + caches.prefixCacheMegabytes) * MemoryCheck.mebibyte
  // Float logits: graph output plus the sampling copy.
  const logits = 2 * 4 * maxRows * config.vocabSize
  return {
    weights,
    rearranged,
    training,
    caches: cached,
    all: MemoryCheck.processBytes + weights + rearranged + logits + training + cached
  }
}

/** Changes that reduce memory, cheapest first. */
const changes = (serving: Serving): ReadonlyArray<readonly [string, Partial<Serving>]> => {
  const { caches, memory, quantize, separator, training } = serving
  const flag = (name: EngineFlags.Name, value: number) => `--${EngineFlags.nameOf(name, separator)} ${value}`
  const min = { kvMemoryMegabytes: 64, prefixCacheMegabytes: 0 }
  const defaults = MemoryCheck.caches(memory)
  const flags = ({ kvMemoryMegabytes, prefixCacheMegabytes }: Serving["caches"]) =>
    [flag("kvMemoryMegabytes", kvMemoryMegabytes), flag("prefixCacheMegabytes", prefixCacheMegabytes)].join(" ")
  const small = flags(min)
  const isAboveDefault = caches.kvMemoryMegabytes > defaults.kvMemoryMegabytes
  const fewerCaches = [
    ...(isAboveDefault ? [[flags(defaults), { caches: defaults }] as const] : []),
    [small, { caches: min }] as const
  ]
  if (training !== undefined) {
    return [
      ...fewerCaches,
      ...[4096, 2048, 1024]
        .filter((tokens) => tokens < (training.tokenBudget ?? Infinity))
        .flatMap((tokenBudget) => [
          [`--token_budget ${tokenBudget}`, { training: { ...training, tokenBudget } }] as const,
          [`--token_budget ${tokenBudget} ${small}`, { training: { ...training, tokenBudget }, caches: min }] as const
        ])
    ]
  }
  const fewer = (["int8", "int4"] as const).filter((kind) => kind !== quantize && quantize !== "int4")
  return [
    ...fewerCaches,
    ...fewer.map((kind) => [`--quantize ${kind}`, { quantize: kind }] as const),
    ...fewer.map((kind) => [`--quantize ${kind} ${small}`, { quantize: kind, caches: min }] as const)
  ]
}

/** Describes why it cannot fit and which changes would; undefined if it fits. */
export const problem = (name: string, config: ModelConfig, serving: Serving): string | undefined => {
  const { device, isMemoryTold, memory } = serving
  // The memory of a GPU is unknown.
  if (device !== "cpu") return undefined
  const { all, caches, rearranged, training, weights } = needs(config, serving)
  if (all <= memory) return undefined
  const fitting = changes(serving).flatMap(([flags, changed]) => {
    const less = needs(config, { ...serving, ...changed })
    return less.all <= memory ? [`${flags} (${MemoryCheck.gigabytes(less.all)})`] : []
  })
  const parts = [
    `weights for sampling ${MemoryCheck.gigabytes(rearranged)}`,
    ...(serving.training === undefined
      ? [`embeddings ${MemoryCheck.gigabytes(weights)}`]
      : [
          `for training ${MemoryCheck.gigabytes(weights)}`,
          `training of one adapter ${MemoryCheck.gigabytes(training)}`
        ]),
    `KV cache up to ${MemoryCheck.gigabytes(caches)}`
  ]
  return (
    `${name} takes ${MemoryCheck.gigabytes(all)}, and ${isMemoryTold ? "memory allows" : "this machine has"} ${MemoryCheck.gigabytes(memory)}: ` +
    `${parts.join(", ")}; ${MemoryCheck.wouldFit(fitting)}`
  )
}

/** A check for the model loader that fails before weights are read. */
export const check = (name: string, serving: Serving) => (config: ModelConfig) => {
  const message = problem(name, config, serving)
  return message === undefined ? Effect.void : Effect.fail(new ModelError({ reason: "settings", model: name, message }))
}
