/**
 * DPO: makes the better of two answers likelier, relative to the reference, than the worse.
 *
 *     d_i = Σ_t log π(o_it) - log π_ref(o_it)
 *     ℓ = -log σ(β (d_better - d_worse))
 *
 * Both sequences have the pair's loss at each of their tokens, so that the mean over a sequence's tokens and then over
 * sequences is the mean over pairs. A group gives one pair: the first sequence with the highest score and the first
 * with the lowest; a group of equal scores gives none.
 *
 * Direct Preference Optimization, arXiv 2305.18290, equation 7. Metrics: `margin` β (d_better - d_worse), and
 * `preferred`, which is 1 if the margin is above 0, summed over the `compared` sequences, both of each pair.
 */
import type { Graph } from "../graph/Graph.ts"
import type { Value } from "../graph/Value.ts"
import { defaults, type Objective } from "./Objective.ts"

/** log(1 + e^x) without overflow. */
const softplus = (graph: Graph, x: Value): Value =>
  graph.add(graph.max(x, graph.scalar(0)), graph.log(graph.add(graph.scalar(1), graph.exp(graph.neg(graph.abs(x))))))

export const objective = (dpoBeta: number): Objective => ({
  ...defaults,
  name: "dpo",
  isPolicyGradient: false,
  needsPairs: true,
  needsReference: true,
  needsSequences: true,
  usesAdvantages: false,
  oldPolicy: "trainer",
  tokenLoss: (graph, { logprobs, mask, partnerSum, preference, refLogprobs, sequenceSum }) => {
    // Both are present: the objective requests them.
    const d = graph.mul(graph.sub(logprobs, refLogprobs!), mask)
    const margin = graph.scale(graph.mul(preference!, graph.sub(sequenceSum(d), partnerSum(d))), dpoBeta)
    // Sums to 1 over the tokens of a sequence.
    const one = graph.div(mask, graph.max(sequenceSum(mask), graph.scalar(1)))
    const isPreferred = graph.cast(graph.greater(margin, graph.scalar(0)), graph.real)
    return {
      loss: softplus(graph, graph.neg(margin)),
      metrics: [
        { name: "margin", value: graph.mul(margin, one), reduce: "sum" },
        { name: "preferred", value: graph.mul(isPreferred, one), reduce: "sum" },
        { name: "compared", value: one, reduce: "sum" }
      ]
    }
  }
})
