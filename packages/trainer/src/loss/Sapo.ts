/**
 * SAPO: a soft gate instead of a clip, which closes as the ratio leaves 1, faster for bad tokens.
 *
 *     ℓ_t = -4/τ σ(τ (r_t - 1)) A_t,   τ = τ_pos if A_t > 0, else τ_neg
 *
 * Soft Adaptive Policy Optimization, arXiv 2511.20347, equations 5 and 6; τ_pos = 1, τ_neg = 1.05 of its section 4.
 */
import { base, type PolicyPreset, type Surrogate } from "./Surrogate.ts"

const surrogate: Surrogate = (graph, { advantages }, logRatio, { sapoTauNegative, sapoTauPositive }) => {
  const ratio = graph.exp(logRatio)
  const isGood = graph.greater(advantages, graph.scalar(0))
  const tau = graph.where(isGood, graph.scalar(sapoTauPositive), graph.scalar(sapoTauNegative))
  const gate = graph.sigmoid(graph.mul(tau, graph.sub(ratio, graph.scalar(1))))
  return { loss: graph.neg(graph.mul(graph.div(graph.scale(gate, 4), tau), advantages)), ratio }
}

export const sapo: PolicyPreset = {
  name: "sapo",
  paper: "Soft Adaptive Policy Optimization, arXiv 2511.20347, equations 5 and 6",
  surrogate,
  needsSequences: false,
  has: ["sapoTauPositive", "sapoTauNegative"],
  defaults: base
}
