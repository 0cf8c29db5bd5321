/**
 * GSPO: one ratio per sequence, the geometric mean of its tokens' ratios, clipped as in PPO.
 *
 *     s_i = exp(1/|o_i| Σ_t log r_it)
 *     ℓ_it = -min(s_i A_it, clip(s_i, 1 - ε_low, 1 + ε_high) A_it)
 *
 * GSPO, arXiv 2507.18071, equations 5 and 7, ε of section 5.1. With one advantage per sequence, the mean over its
 * tokens is the paper's sequence term.
 */
import { clippedRatio } from "./Clipped.ts"
import { base, type PolicyPreset, type Surrogate } from "./Surrogate.ts"

const surrogate: Surrogate = (graph, { advantages, sequenceMean }, logRatio, settings) =>
  clippedRatio(graph, graph.exp(sequenceMean(logRatio)), advantages, settings)

export const gspo: PolicyPreset = {
  name: "gspo",
  paper: "Group Sequence Policy Optimization, arXiv 2507.18071, equations 5 and 7",
  surrogate,
  needsSequences: true,
  has: ["clipLow", "clipHigh"],
  defaults: { ...base, clipLow: 3e-4, clipHigh: 4e-4 }
}
