/**
 * CISPO: clips the ratio as a weight of REINFORCE instead of in the objective, so that every token keeps its gradient.
 *
 *     ℓ_t = -sg(clip(r_t, 1 - ε_low, 1 + ε_high)) A_t log π(o_t)        sg: no gradient
 *
 * MiniMax-M1, arXiv 2506.13585, equations 4 and 5. As there, the weight has no lower bound (ε_low = 1); the upper bound
 * 1 + ε_high = 5 is that of ScaleRL (arXiv 2510.13786), since the paper gives none.
 */
import { indicator, base, type PolicyPreset, type Surrogate } from "./Surrogate.ts"

const surrogate: Surrogate = (graph, { advantages, logprobs }, logRatio, { clipHigh, clipLow }) => {
  const ratio = graph.stopGradient(graph.exp(logRatio))
  const weight = graph.clip(ratio, 1 - clipLow, 1 + clipHigh)
  return {
    loss: graph.neg(graph.mul(graph.mul(weight, advantages), logprobs)),
    ratio,
    clippedLow: indicator(graph, graph.less(ratio, graph.scalar(1 - clipLow))),
    clippedHigh: indicator(graph, graph.greater(ratio, graph.scalar(1 + clipHigh)))
  }
}

export const cispo: PolicyPreset = {
  name: "cispo",
  paper: "MiniMax-M1, arXiv 2506.13585, equations 4 and 5",
  surrogate,
  standard: ({ clipHigh, clipLow }) => ({ name: "cispo", low: 1 - clipLow, high: 1 + clipHigh }),
  needsSequences: false,
  has: ["clipLow", "clipHigh"],
  defaults: { ...base, clipLow: 1, clipHigh: 4, aggregation: "token-mean" }
}
