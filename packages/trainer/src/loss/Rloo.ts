/**
 * RLOO: treats a completion as one action. Its ratio is the product of its tokens', clipped as in PPO, and its score is
 * compared with the mean of the group's others.
 *
 *     R_i = Π_t r_it
 *     ℓ_it = -min(R_i A_i, clip(R_i, 1 - ε_low, 1 + ε_high) A_i)
 *
 * The mean over a sequence's tokens is its term. Back to Basics, arXiv 2402.14740, equations 7 and 8; the clip is
 * TRL's, and is inactive for fresh weights, where the gradient is A_i Σ_t ∇ log π(o_it). log R is clamped to ±20.
 */
import { clippedRatio } from "./Clipped.ts"
import { logBound, base, type PolicyPreset, type Surrogate } from "./Surrogate.ts"

const surrogate: Surrogate = (graph, { advantages, sequenceSum }, logRatio, settings) =>
  clippedRatio(graph, graph.exp(graph.clip(sequenceSum(logRatio), -logBound, logBound)), advantages, settings)

export const rloo: PolicyPreset = {
  name: "rloo",
  paper: "Back to Basics: Revisiting REINFORCE Style Optimization, arXiv 2402.14740, equations 7 and 8",
  surrogate,
  needsSequences: true,
  has: ["clipLow", "clipHigh"],
  defaults: { ...base, baseline: "leave-one-out", advantageScale: "none" }
}
