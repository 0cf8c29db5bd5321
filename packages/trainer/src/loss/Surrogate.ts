/** The part of a policy objective that its name stands for: what is made of ratio and advantage. */
import type { Graph } from "../graph/Graph.ts"
import type { Value } from "../graph/Value.ts"
import type { AggregationSettings } from "./Aggregation.ts"
import type { Kl } from "./Kl.ts"
import type { ImportanceSampling } from "./ImportanceSampling.ts"
import type { OldPolicy, Tokens } from "./Objective.ts"
import type { SequenceSettings } from "./SequenceSettings.ts"

/** Everything a preset sets and a user may change. */
export interface PolicySettings extends AggregationSettings, Omit<SequenceSettings, "isPolicyGradient"> {
  /** ε_low and ε_high of the ratio; for `dppo` δ_low and δ_high of the probability. */
  readonly clipLow: number
  readonly clipHigh: number
  /** Largest factor a token's gradient is multiplied with where nothing else bounds it (`dppo`). */
  readonly ratioCap: number
  readonly oldPolicy: OldPolicy
  readonly importanceSampling: ImportanceSampling
  /** C. */
  readonly importanceCap: number
  readonly kl: Kl
  /** β; 0 switches the KL term off. */
  readonly klCoef: number
  /**
   * Whether the KL term is weighted with the ratio, which makes its gradient that of the KL divergence off-policy too.
   */
  readonly klImportance: boolean
}

export interface SurrogateLoss {
  /** (N, 1) */
  readonly loss: Value
  /** (N, 1) the ratio the surrogate looks at. */
  readonly ratio: Value
  /** (N, 1) 1 where the lower or upper bound acts on the gradient. */
  readonly clippedLow: Value
  readonly clippedHigh: Value
}

/** `logRatio` is log π - log π_old, 0 where masked, within ±20. */
export type Surrogate = (graph: Graph, tokens: Tokens, logRatio: Value, settings: PolicySettings) => SurrogateLoss

export interface PolicyPreset {
  readonly name: string
  readonly paper: string
  readonly surrogate: Surrogate
  readonly needsSequences: boolean
  readonly defaults: PolicySettings
}

/** 1 where all conditions hold. */
export const indicator = (graph: Graph, ...conditions: readonly [Value, ...ReadonlyArray<Value>]): Value =>
  graph.cast(
    conditions.reduce((a, b) => graph.and(a, b)),
    graph.real
  )

/** What presets start from. */
export const plain: PolicySettings = {
  baseline: "group",
  advantageScale: "sample-std",
  maskTruncated: false,
  dropConstantGroups: false,
  aggregation: "sequence-mean",
  divisorTokens: 4096,
  clipLow: 0.2,
  clipHigh: 0.2,
  ratioCap: 20,
  oldPolicy: "engine",
  importanceSampling: "none",
  importanceCap: 2,
  kl: "k3",
  klCoef: 0,
  klImportance: false
}
