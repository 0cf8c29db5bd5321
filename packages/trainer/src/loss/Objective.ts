/**
 * What a training graph minimises: a loss per token, and how the tokens' losses become one number.
 *
 * An objective is a value. `TrainGraph` gives it the tokens of a micro-batch as graph values and adds up what it
 * returns; it knows nothing of models, rows or executors. All values are real, of shape (N, 1), one entry per position;
 * entries of masked positions must stay finite and are multiplied by 0 in the end.
 */
import type { Graph } from "../graph/Graph.ts"
import type { Value } from "../graph/Value.ts"
import type { AggregationSettings } from "./Aggregation.ts"
import type { SequenceSettings } from "./SequenceSettings.ts"

/** A micro-batch's tokens inside a graph. */
export interface Tokens {
  /**
   * log π(token), nats at the tokens' temperatures; for `candidates: "teacher"` Σ_k q_k log π(k). The only value with a
   * gradient.
   */
  readonly logprobs: Value
  /** Under the policy the ratio is taken against. Where unknown, the present logprobs without gradient: ratio 1. */
  readonly oldLogprobs: Value
  /** Under the engine that sampled; where unknown, as the old ones. */
  readonly engineLogprobs: Value
  /** 1 where the engine's logprob is known and the token is trained. */
  readonly known: Value
  /** Present where the objective asks for it. */
  readonly refLogprobs: Value | undefined
  /** -Σ_k q_k log q_k of the teacher, nats; present where the candidates are the teacher's. */
  readonly teacherEntropies: Value | undefined
  readonly advantages: Value
  /** 1 where trained, else 0. */
  readonly mask: Value
  /** Mean over a sequence's trained tokens, at each of its positions. */
  readonly sequenceMean: (values: Value) => Value
  /** Sum over a sequence's trained tokens, at each of its positions. */
  readonly sequenceSum: (values: Value) => Value
}

/** A figure to watch: a value per token, and how it is reduced over the trained tokens (`max`: of values from 0 up). */
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
 * Whose logprobs `oldLogprobs` are: the sampling engine's, or the trainer's own before the first update with the batch.
 * In that update the latter are the present ones (ratio 1).
 */
export type OldPolicy = "engine" | "trainer"

export interface Objective extends AggregationSettings, SequenceSettings {
  readonly name: string
  /** Which logprobs of each position the loss is made of: the target token's, or the teacher's top tokens'. */
  readonly candidates: "target" | "teacher"
  readonly oldPolicy: OldPolicy
  /** Whether the tokens' logprobs under the reference policy must be given. */
  readonly needsReference: boolean
  /** Whether the loss looks at whole sequences. */
  readonly needsSequences: boolean
  /** Whether a token whose advantage is 0 has no loss, so that sequences of such tokens need not be computed. */
  readonly isAdvantageOnly: boolean
  readonly tokenLoss: (graph: Graph, tokens: Tokens) => TokenLoss
}
