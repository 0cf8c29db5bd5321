/**
 * The training objective: a loss per token, and how token losses are aggregated.
 *
 * An objective is a value; `make` completes a custom one (see `docs/losses.md`). The training graph passes it the
 * tokens of a micro-batch as graph values and sums what it returns; it does not depend on models, rows or executors.
 * Token values are real, of shape (N, 1), one entry per position in no particular order: never sum over axis 0, because
 * a batch is split into micro-batches of any size. Entries of masked positions must stay finite; they are multiplied by
 * 0 at the end.
 */
import { ScoreAdvantage } from "@atropos/core"
import { Predicate } from "effect"
import type { Graph } from "../graph/Graph.ts"
import type { Value } from "../graph/Value.ts"
import type { AggregationSettings } from "./Aggregation.ts"
import type { SequenceSettings } from "./SequenceSettings.ts"

export interface Tokens {
  /** log π(token), nats at the tokens' temperatures; for `candidates: "teacher"` Σ_k q_k log π(k). Has a gradient. */
  readonly logprobs: Value
  /** Under the old policy of the ratio. If unknown, the current logprobs without gradient: ratio 1. */
  readonly oldLogprobs: Value
  /** Under the sampling engine; if unknown, equal to the old ones. */
  readonly engineLogprobs: Value
  /** 1 if the engine's logprob is known and the token is trained. */
  readonly known: Value
  /** Present if the objective requests it. */
  readonly refLogprobs: Value | undefined
  /** -Σ_k q_k log q_k of the teacher, nats; present if the candidates are the teacher's. */
  readonly teacherEntropies: Value | undefined
  readonly advantages: Value
  /** 1 where trained, else 0. */
  readonly mask: Value
  /** Entropy of the full distribution at each position, nats, with a gradient; if the objective requests it. */
  readonly entropies: Value | undefined
  /** [] quantile `entropyQuantile` of the entropies of the batch's trained tokens; if the objective requests it. */
  readonly entropyThreshold: Value | undefined
  /** log q(token) of the teacher, 0 if missing; if the objective requests it. */
  readonly teacherLogprobs: Value | undefined
  /** 1 if the teacher gave a logprob and the token is trained. */
  readonly teacherKnown: Value | undefined
  /** Mean over a sequence's trained tokens, at each of its positions. This and `sequenceSum` need `needsSequences`. */
  readonly sequenceMean: (values: Value) => Value
  /** Sum over a sequence's trained tokens, at each of its positions. */
  readonly sequenceSum: (values: Value) => Value
  /** Sum over the trained tokens of the pair's other sequence; this and `preference` need `needsPairs`. */
  readonly partnerSum: (values: Value) => Value
  /** 1 for the preferred sequence of a pair, -1 for the other. */
  readonly preference: Value | undefined
}

/** A metric: a value per token, and its reduction over the trained tokens (`max`: values must be at least 0). */
export interface Metric {
  readonly name: string
  readonly value: Value
  readonly reduce: "sum" | "max"
}

export interface TokenLoss {
  readonly loss: Value
  readonly metrics: ReadonlyArray<Metric>
}

/**
 * A per-token loss that servers support under this name, with r between the bounds `low` and `high`:
 *
 *     cross_entropy   -log π
 *     ppo             -min(r A, clip(r, low, high) A)
 *     cispo           -sg(clip(r, low, high)) A log π
 */
export type StandardLoss =
  | { readonly name: "cross_entropy" }
  | { readonly name: "ppo" | "cispo"; readonly low: number; readonly high: number }

/** ℓ of each token. */
export interface LossOfTokens {
  (graph: Graph, tokens: Tokens): TokenLoss
  /**
   * Set if this is exactly a standard loss. Attached to the function, so that an objective derived from another with
   * its own loss has none.
   */
  readonly standard?: StandardLoss
}

/**
 * Source of `oldLogprobs`: the sampling engine, or the trainer before the first update with the batch. In that update
 * the latter are the current ones (ratio 1).
 */
export type OldPolicy = "engine" | "trainer"

export interface Objective extends AggregationSettings, SequenceSettings {
  readonly name: string
  /** Logprobs that the loss uses at each position: the target token's, or the teacher's top tokens'. */
  readonly candidates: "target" | "teacher"
  readonly oldPolicy: OldPolicy
  /** True if the tokens' logprobs under the reference policy are required. */
  readonly needsReference: boolean
  readonly needsSequences: boolean
  /** True if the loss uses entropies, which engines that only return logprobs cannot provide. */
  readonly needsEntropies: boolean
  /** Quantile of the batch's entropies for `entropyThreshold`, 0 to 1; null if unused. */
  readonly entropyQuantile: number | null
  /** True if the loss uses the teacher's logprobs of the tokens themselves. */
  readonly needsTeacher: boolean
  readonly usesAdvantages: boolean
  /** True if a token with advantage 0 has no loss, so that sequences of such tokens may be skipped. */
  readonly isAdvantageOnly: boolean
  readonly tokenLoss: LossOfTokens
}

/** Defaults of an objective: those of `grpo`, without its loss. */
export const defaults = {
  baseline: "group",
  advantageScale: "sample-std",
  maskTruncated: false,
  dropConstantGroups: false,
  isPolicyGradient: true,
  needsPairs: false,
  aggregation: "sequence-mean",
  divisorTokens: 4096,
  candidates: "target",
  oldPolicy: "engine",
  needsReference: false,
  needsSequences: false,
  needsEntropies: false,
  entropyQuantile: null,
  needsTeacher: false,
  usesAdvantages: true,
  isAdvantageOnly: false
} as const satisfies Omit<Objective, "name" | "tokenLoss">

/** A custom objective: its name, its loss, and what differs from `defaults`. */
export interface Definition extends Partial<Omit<Objective, "name" | "tokenLoss">> {
  readonly name: string
  /** ℓ of each token (N, 1), alone or with metrics. */
  readonly tokenLoss: (graph: Graph, tokens: Tokens) => Value | TokenLoss
}

const fields: { readonly [name: string]: ReadonlyArray<unknown> | "boolean" | "number" } = {
  baseline: ScoreAdvantage.baselines,
  advantageScale: ScoreAdvantage.scales,
  aggregation: ["sequence-mean", "token-mean", "constant"],
  candidates: ["target", "teacher"],
  oldPolicy: ["engine", "trainer"],
  divisorTokens: "number",
  maskTruncated: "boolean",
  dropConstantGroups: "boolean",
  isPolicyGradient: "boolean",
  needsPairs: "boolean",
  needsReference: "boolean",
  needsSequences: "boolean",
  needsEntropies: "boolean",
  needsTeacher: "boolean",
  usesAdvantages: "boolean",
  isAdvantageOnly: "boolean"
}

/** Explains why a value of unknown origin is not an objective; undefined if it is one. */
export const problem = (value: unknown): string | undefined => {
  if (typeof value === "function") return "it is a function: an objective is a value, made by Objective.make({ … })"
  if (!Predicate.isObject(value)) return `it is ${value === null ? "null" : typeof value}, not an objective`
  const input: { readonly [name: string]: unknown } = value
  if (typeof input["name"] !== "string" || input["name"] === "") return "its name is missing: a text"
  if (typeof input["tokenLoss"] !== "function") return "its tokenLoss is missing: a function of a graph and its tokens"
  for (const [name, allowed] of Object.entries(fields)) {
    const one = input[name]
    if (one === undefined) return `its ${name} is missing: Objective.make({ … }) fills in the rest`
    if (Array.isArray(allowed)) {
      if (!allowed.includes(one))
        return `its ${name} is ${JSON.stringify(one)}: it must be one of ${allowed.join(", ")}`
    } else if (typeof one !== allowed) {
      return `its ${name} is ${JSON.stringify(one)}: it must be a ${String(allowed)}`
    }
  }
  const { entropyQuantile } = input
  return entropyQuantile === null ||
    (typeof entropyQuantile === "number" && entropyQuantile >= 0 && entropyQuantile <= 1)
    ? undefined
    : `its entropyQuantile is ${JSON.stringify(entropyQuantile)}: it must be null or a number from 0 to 1`
}

const isValue = (loss: Value | TokenLoss): loss is Value => "dtype" in loss

export const make = ({ tokenLoss, ...definition }: Definition): Objective => ({
  ...defaults,
  ...definition,
  tokenLoss: (graph, tokens) => {
    const loss = tokenLoss(graph, tokens)
    return isValue(loss) ? { loss, metrics: [] } : loss
  }
})
