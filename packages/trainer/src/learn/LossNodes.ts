/**
 * The nodes of an objective: from the logprobs of tokens to the loss and the figures. What the training graph adds to a
 * model's forward pass, and what `HostObjective` computes from logprobs that came from elsewhere.
 *
 * All token values are (N, 1). Inputs by name: `token_weights`, `advantages`, `old_logprobs`, `engine_logprobs`, and
 * where the objective asks for them `ref_logprobs`, `distill_entropies`. A logprob above 0.5 is none: there the present
 * one stands, without gradient.
 */
import type { Graph } from "../graph/Graph.ts"
import type { Value } from "../graph/Value.ts"
import type { Metric, Objective, Tokens } from "../loss/Objective.ts"

/** What is known of whole sequences, at each of their positions. */
export interface Sequences {
  /** Over the trained tokens of each sequence. */
  readonly sum: (values: Value) => Value
  readonly mean: (values: Value) => Value
}

export interface Sources {
  readonly logprobs: Value
  readonly entropies: Value | undefined
  /** 1 where trained. */
  readonly mask: Value
  /** A real input. */
  readonly column: (name: string) => Value
  /** Called where the objective looks at whole sequences. */
  readonly sequences: () => Sequences
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

/** Metrics of two micro-batches as those of both. */
export const combine = (metrics: ReadonlyArray<MetricName>, a: ArrayLike<number>, b: ArrayLike<number>): Float64Array =>
  Float64Array.from(metrics, ({ reduce }, i) => (reduce === "sum" ? a[i]! + b[i]! : Math.max(a[i]!, b[i]!)))

const total = (graph: Graph, { reduce, value }: Metric, mask: Value): Value => {
  const masked = graph.mul(graph.stopGradient(value), mask)
  return graph.reshape(reduce === "sum" ? graph.sum(masked, [0, 1]) : graph.amax(masked, [0, 1]), [1])
}

const noSequences = (objective: Objective) => (): never => {
  throw new Error(`loss ${objective.name} looks at whole sequences: it must say so by needsSequences`)
}

export const build = (graph: Graph, objective: Objective, sources: Sources): LossNodes => {
  const { column, entropies, logprobs, mask } = sources
  const present = graph.stopGradient(logprobs)
  const given = (name: string) => {
    const value = column(name)
    const isKnown = graph.less(value, graph.scalar(0.5))
    return { value: graph.where(isKnown, value, present), known: graph.cast(isKnown, graph.real) }
  }
  const engine = given("engine_logprobs")
  const sequences = objective.needsSequences ? sources.sequences() : undefined
  const tokens: Tokens = {
    logprobs,
    oldLogprobs: given("old_logprobs").value,
    engineLogprobs: engine.value,
    known: graph.mul(engine.known, mask),
    refLogprobs: objective.needsReference ? column("ref_logprobs") : undefined,
    teacherEntropies: objective.candidates === "teacher" ? column("distill_entropies") : undefined,
    advantages: column("advantages"),
    mask,
    sequenceMean: sequences?.mean ?? noSequences(objective),
    sequenceSum: sequences?.sum ?? noSequences(objective)
  }
  const { loss: tokenLoss, metrics: own } = objective.tokenLoss(graph, tokens)
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
