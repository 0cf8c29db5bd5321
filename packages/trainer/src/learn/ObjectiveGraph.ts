/**
 * Builds a graph of an objective alone: from the logprobs of N tokens to the loss, its metrics and dL/dlogprob.
 *
 * Inputs: real `logprobs`, `loss_mask` and those of `LossNodes` (N, 1). If the objective uses sequences or pairs:
 * `slots` int32 (N), the sequence of each token; `counts` (S, 1), their trained tokens, at least 1; `partners` int32
 * (S); `preferences` (N, 1). With `withEntropies`: `entropies` (N, 1). Outputs: `loss` [], `metrics` (M), `slopes` (N,
 * 1), and `entropy_slopes` (N, 1) if the objective uses entropies and they are given.
 */
import type { Pieces } from "../base/Pieces.ts"
import { gradPieces } from "../graph/Autodiff.ts"
import type { Graph } from "../graph/Graph.ts"
import type { Value } from "../graph/Value.ts"
import type { Objective } from "../loss/Objective.ts"
import * as LossNodes from "./LossNodes.ts"

export interface ObjectiveGraph {
  readonly graph: Graph
  readonly metrics: ReadonlyArray<LossNodes.MetricName>
}

const sequenceSums = (graph: Graph, mask: Value) => {
  const slots = graph.input("slots", "int32", ["N"])
  const counts = graph.input("counts", graph.real, ["S", 1])
  const zero = graph.sub(counts, counts)
  const rows = graph.reshape(slots, ["N", 1])
  const sums = (values: Value) =>
    graph.node("ScatterElements", [zero, rows, graph.mul(values, mask)], values.dtype, ["S", 1], {
      axis: 0,
      reduction: "add"
    })
  const spread = (totals: Value) => graph.gather(totals, slots)
  return {
    sum: (values: Value) => spread(sums(values)),
    mean: (values: Value) => spread(graph.div(sums(values), counts)),
    /** `partners` (S): index of the sequence that each is compared with. */
    partnerSum: (partners: Value) => (values: Value) => spread(graph.gather(sums(values), partners))
  }
}

/** `graph` must be empty and have the desired precision. */
export function* buildPieces(objective: Objective, graph: Graph, withEntropies = false): Pieces<ObjectiveGraph> {
  const column = (name: string): Value => graph.input(name, graph.real, ["N", 1])
  const logprobs = column("logprobs")
  const mask = column("loss_mask")
  const entropies = withEntropies ? column("entropies") : undefined
  let made: ReturnType<typeof sequenceSums> | undefined
  const sequences = () => (made ??= sequenceSums(graph, mask))
  const { figures, loss, metrics } = LossNodes.build(graph, objective, {
    logprobs,
    entropies,
    mask,
    column,
    sequences,
    pairs: () => ({
      partnerSum: sequences().partnerSum(graph.input("partners", "int32", ["S"])),
      preference: column("preferences")
    })
  })
  const outputs = entropies !== undefined && objective.needsEntropies ? [logprobs, entropies] : [logprobs]
  const [slopes, entropySlopes] = yield* gradPieces(graph, loss, outputs)
  graph.output("loss", loss)
  graph.output("metrics", figures)
  graph.output("slopes", slopes!)
  if (entropySlopes !== undefined) graph.output("entropy_slopes", entropySlopes)
  return { graph, metrics }
}
