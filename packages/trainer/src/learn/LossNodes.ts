/**
 * Builds the nodes of an objective, from token logprobs to loss and metrics, both for the training graph and for
 * `HostObjective`.
 *
 * All token values are (N, 1). Inputs by name: `token_weights`, `advantages`, `old_logprobs`, `engine_logprobs`, and if
 * the objective uses them `ref_logprobs`, `distill_entropies`, `teacher_logprobs` (1 if missing), and
 * `entropy_threshold` []. An old logprob above 0.5 means missing: the current logprob is used instead, without
 * gradient.
 */
import { Schema } from "effect"
import type { Graph } from "../graph/Graph.ts"
import { sameShape } from "../graph/Shape.ts"
import { showType, type Value } from "../graph/Value.ts"
import type { Metric, Objective, Tokens } from "../loss/Objective.ts"

/** Values of whole sequences, broadcast to their positions. */
export interface Sequences {
  /** Over the trained tokens of each sequence. */
  readonly sum: (values: Value) => Value
  readonly mean: (values: Value) => Value
}

/** Values of pairs of sequences, broadcast to the positions of both. */
export interface Pairs {
  /** Over the trained tokens of the other sequence. */
  readonly partnerSum: (values: Value) => Value
  /** 1 for the better sequence, -1 for the other. */
  readonly preference: Value
}

export interface Sources {
  readonly logprobs: Value
  readonly entropies: Value | undefined
  /** 1 where trained. */
  readonly mask: Value
  readonly column: (name: string) => Value
  readonly sequences: () => Sequences
  readonly pairs: () => Pairs
}

export interface MetricName {
  readonly name: string
  readonly reduce: "sum" | "max"
}

export interface LossNodes {
  /** [] Σ token_weights · ℓ */
  readonly loss: Value
  /** (M) in the order of `metrics`. */
  readonly figures: Value
  readonly metrics: ReadonlyArray<MetricName>
}

export const combine = (metrics: ReadonlyArray<MetricName>, a: ArrayLike<number>, b: ArrayLike<number>): Float64Array =>
  Float64Array.from(metrics, ({ reduce }, i) => (reduce === "sum" ? a[i]! + b[i]! : Math.max(a[i]!, b[i]!)))

const total = (graph: Graph, { reduce, value }: Metric, mask: Value): Value => {
  const masked = graph.mul(graph.stopGradient(value), mask)
  return graph.reshape(reduce === "sum" ? graph.sum(masked, [0, 1]) : graph.amax(masked, [0, 1]), [1])
}

/** A bug in a custom objective. */
export class Undeclared extends Schema.TaggedError<Undeclared>()("Undeclared", {
  objective: Schema.String,
  what: Schema.String,
  field: Schema.String
}) {
  override get message() {
    return `loss ${this.objective} uses ${this.what}: it must declare so by ${this.field}: true`
  }
}

const missing =
  ({ name }: Objective, what: string, field: string) =>
  (): never => {
    throw new Undeclared({ objective: name, what, field })
  }

export const build = (graph: Graph, objective: Objective, sources: Sources): LossNodes => {
  const { column, entropies, logprobs, mask } = sources
  const present = graph.stopGradient(logprobs)
  const logprobsOf = (name: string) => {
    const value = column(name)
    const isKnown = graph.less(value, graph.scalar(0.5))
    return { value: graph.where(isKnown, value, present), known: graph.cast(isKnown, graph.real) }
  }
  const engine = logprobsOf("engine_logprobs")
  const sequences = objective.needsSequences ? sources.sequences() : undefined
  const pairs = objective.needsPairs ? sources.pairs() : undefined
  const teacher = objective.needsTeacher ? column("teacher_logprobs") : undefined
  const isTaught = teacher && graph.less(teacher, graph.scalar(0.5))
  const tokens: Tokens = {
    logprobs,
    oldLogprobs: logprobsOf("old_logprobs").value,
    engineLogprobs: engine.value,
    known: graph.mul(engine.known, mask),
    refLogprobs: objective.needsReference ? column("ref_logprobs") : undefined,
    teacherEntropies: objective.candidates === "teacher" ? column("distill_entropies") : undefined,
    entropies: objective.needsEntropies ? entropies : undefined,
    entropyThreshold: objective.entropyQuantile === null ? undefined : graph.input("entropy_threshold", graph.real, []),
    teacherLogprobs: teacher && isTaught && graph.where(isTaught, teacher, graph.scalar(0)),
    teacherKnown: isTaught && graph.mul(graph.cast(isTaught, graph.real), mask),
    advantages: column("advantages"),
    mask,
    sequenceMean: sequences?.mean ?? missing(objective, "whole sequences", "needsSequences"),
    sequenceSum: sequences?.sum ?? missing(objective, "whole sequences", "needsSequences"),
    partnerSum: pairs?.partnerSum ?? missing(objective, "pairs", "needsPairs"),
    preference: pairs?.preference
  }
  const { loss: tokenLoss, metrics: own } = objective.tokenLoss(graph, tokens)
  const isPerToken = tokenLoss.dtype === graph.real && sameShape(tokenLoss.shape, logprobs.shape)
  graph.require(
    isPerToken,
    `tokenLoss of ${objective.name}`,
    [tokenLoss],
    `must be ${showType(logprobs)}: one per token`
  )
  const metrics: ReadonlyArray<Metric> = [
    { name: "tokens", value: mask, reduce: "sum" },
    { name: "token_loss", value: tokenLoss, reduce: "sum" },
    { name: "logprob", value: logprobs, reduce: "sum" },
    ...(entropies === undefined ? [] : [{ name: "entropy", value: entropies, reduce: "sum" as const }]),
    ...own
  ]
  return {
    loss: graph.sum(graph.mul(tokenLoss, column("token_weights")), [0, 1]),
    figures: graph.concat(
      metrics.map((metric) => total(graph, metric, mask)),
      0
    ),
    metrics: metrics.map(({ name, reduce }) => ({ name, reduce }))
  }
}
