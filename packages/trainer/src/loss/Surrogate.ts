/** The surrogate of a policy objective: its term in ratio and advantage. */
import type { Graph } from "../graph/Graph.ts"
import type { Value } from "../graph/Value.ts"
import type { AggregationSettings } from "./Aggregation.ts"
import type { Kl } from "./Kl.ts"
import type { ImportanceLevel, ImportanceSampling } from "./ImportanceSampling.ts"
import { defaults, type Metric, type OldPolicy, type StandardLoss, type Tokens } from "./Objective.ts"
import type { SequenceSettings } from "./SequenceSettings.ts"

/** All settings of a preset that a user may change. */
export interface PolicySettings extends AggregationSettings, Omit<SequenceSettings, "isPolicyGradient" | "needsPairs"> {
  /** ε_low and ε_high of the ratio; for `dppo` δ_low and δ_high of the probability. */
  readonly clipLow: number
  readonly clipHigh: number
  /** Max factor on a token's gradient if nothing else bounds it (`dppo`). */
  readonly ratioCap: number
  readonly oldPolicy: OldPolicy
  readonly importanceSampling: ImportanceSampling
  /** Weight by the token's ratio, or by its sequence's (the product over its tokens). */
  readonly importanceLevel: ImportanceLevel
  /** C. */
  readonly importanceCap: number
  /** c; null: 1/C if masked, none if truncated. */
  readonly importanceFloor: number | null
  readonly kl: Kl
  /** β; 0 switches the KL term off. */
  readonly klCoef: number
  /** Weight the KL term with the ratio, so that its gradient is that of the KL divergence off-policy too. */
  readonly klImportance: boolean
  /** δ of the mask of drifted sequences, nats per token; null: off. */
  readonly offPolicyBound: number | null
  readonly entropyCoef: number
  /** Share of the batch's tokens, those with the highest entropy, that have a policy loss. */
  readonly entropyShare: number
  /** τ of `sapo` for advantages above 0, and for the others. */
  readonly sapoTauPositive: number
  readonly sapoTauNegative: number
  /** k and λ of `vespo` for advantages from 0 up, and for negative ones. */
  readonly vespoPowerPositive: number
  readonly vespoDecayPositive: number
  readonly vespoPowerNegative: number
  readonly vespoDecayNegative: number
}

/** Settings that only some surrogates use; each preset lists its own. */
export const lossOptions = [
  "clipLow",
  "clipHigh",
  "ratioCap",
  "sapoTauPositive",
  "sapoTauNegative",
  "vespoPowerPositive",
  "vespoDecayPositive",
  "vespoPowerNegative",
  "vespoDecayNegative"
] as const satisfies ReadonlyArray<keyof PolicySettings>

export interface SurrogateLoss {
  /** (N, 1) */
  readonly loss: Value
  /** (N, 1) the surrogate's ratio. */
  readonly ratio: Value
  /** (N, 1) 1 where the lower or upper bound affects the gradient; absent without bounds. */
  readonly clippedLow?: Value
  readonly clippedHigh?: Value
  readonly metrics?: ReadonlyArray<Metric>
}

/** `logRatio` is log π - log π_old, 0 where masked, within ±20. */
export type Surrogate = (graph: Graph, tokens: Tokens, logRatio: Value, settings: PolicySettings) => SurrogateLoss

export interface PolicyPreset {
  readonly name: string
  readonly paper: string
  readonly surrogate: Surrogate
  /** The standard loss equal to the surrogate, if any. */
  readonly standard?: (settings: PolicySettings) => StandardLoss
  readonly needsSequences: boolean
  /** True if advantages are used; default true. */
  readonly usesAdvantages?: boolean
  readonly needsTeacher?: boolean
  /** Why its loss must not be corrected for sampler mismatch; absent if it may. */
  readonly noCorrection?: string
  /** The settings in `particular` that it uses. */
  readonly has: ReadonlyArray<(typeof lossOptions)[number]>
  readonly defaults: PolicySettings
}

/** 1 where all conditions hold. */
export const indicator = (graph: Graph, ...conditions: readonly [Value, ...ReadonlyArray<Value>]): Value =>
  graph.cast(
    conditions.reduce((a, b) => graph.and(a, b)),
    graph.real
  )

/** Bound of log ratios: e^20 is far beyond any clip, and finite. */
export const logBound = 20

export const base: PolicySettings = {
  baseline: defaults.baseline,
  advantageScale: defaults.advantageScale,
  maskTruncated: defaults.maskTruncated,
  dropConstantGroups: defaults.dropConstantGroups,
  aggregation: defaults.aggregation,
  divisorTokens: defaults.divisorTokens,
  clipLow: 0.2,
  clipHigh: 0.2,
  ratioCap: 20,
  oldPolicy: defaults.oldPolicy,
  importanceSampling: "none",
  importanceLevel: "token",
  importanceCap: 2,
  importanceFloor: null,
  kl: "k3",
  klCoef: 0,
  klImportance: false,
  offPolicyBound: null,
  entropyCoef: 0,
  entropyShare: 1,
  sapoTauPositive: 1,
  sapoTauNegative: 1.05,
  vespoPowerPositive: 2,
  vespoDecayPositive: 3,
  vespoPowerNegative: 3,
  vespoDecayNegative: 2
}
