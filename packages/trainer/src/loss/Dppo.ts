/**
 * DPPO with the binary total-variation mask: masks a token if its probability, rather than its ratio, has moved too far
 * in the direction of its advantage. Rare tokens keep their gradient; frequent ones stay bounded.
 *
 *     M_t = 0 if A_t > 0 and π(o_t) - π_old(o_t) > δ_high, or A_t <= 0 and π_old(o_t) - π(o_t) > δ_low; else 1
 *     ℓ_t = -M_t sg(min(r_t, C)) A_t log π(o_t)        sg: no gradient
 *
 * Rethinking the Trust Region in LLM Reinforcement Learning, arXiv 2602.04879: |π - π_old| of the sampled token is the
 * total variation of "this token or another"; δ = 0.15, C = 20. Its objective M r A has the same gradient if r <= C.
 */
import { indicator, base, type PolicyPreset, type Surrogate } from "./Surrogate.ts"

const surrogate: Surrogate = (graph, tokens, logRatio, { clipHigh, clipLow, ratioCap }) => {
  const { advantages, logprobs, oldLogprobs } = tokens
  const ratio = graph.stopGradient(graph.exp(logRatio))
  const moved = graph.stopGradient(graph.sub(graph.exp(logprobs), graph.exp(oldLogprobs)))
  const isGood = graph.greater(advantages, graph.scalar(0))
  const clippedHigh = indicator(graph, isGood, graph.greater(moved, graph.scalar(clipHigh)))
  const clippedLow = indicator(graph, graph.not(isGood), graph.less(moved, graph.scalar(-clipLow)))
  const kept = graph.sub(graph.scalar(1), graph.add(clippedLow, clippedHigh))
  const weight = graph.mul(kept, graph.min(ratio, graph.scalar(ratioCap)))
  return { loss: graph.neg(graph.mul(graph.mul(weight, advantages), logprobs)), ratio, clippedLow, clippedHigh }
}

export const dppo: PolicyPreset = {
  name: "dppo",
  paper: "Rethinking the Trust Region in LLM Reinforcement Learning, arXiv 2602.04879",
  surrogate,
  needsSequences: false,
  has: ["clipLow", "clipHigh", "ratioCap"],
  defaults: { ...base, clipLow: 0.15, clipHigh: 0.15, aggregation: "token-mean" }
}
