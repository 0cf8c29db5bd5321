/**
 * PPO's clipped ratio, and the presets that vary what surrounds it.
 *
 *     r_t = π(o_t) / π_old(o_t)
 *     ℓ_t = -min(r_t A_t, clip(r_t, 1 - ε_low, 1 + ε_high) A_t)
 *
 * For A < 0 this is max(r |A|, clip(r) |A|): a bad token with a ratio above 1 + ε is still pushed down, one below 1 - ε
 * is not. (The original's example trainer takes the other branch there: it clips where it should push, and pushes
 * without bound where it should stop.)
 */
import type { Graph } from "../graph/Graph.ts"
import type { Value } from "../graph/Value.ts"
import { indicator, base, type PolicyPreset, type Surrogate, type SurrogateLoss } from "./Surrogate.ts"

/** ℓ of a ratio, per token. */
export const clippedRatio = (
  graph: Graph,
  ratio: Value,
  advantages: Value,
  { clipHigh, clipLow }: { readonly clipHigh: number; readonly clipLow: number }
): SurrogateLoss => {
  const clipped = graph.clip(ratio, 1 - clipLow, 1 + clipHigh)
  const zero = graph.scalar(0)
  return {
    loss: graph.neg(graph.min(graph.mul(ratio, advantages), graph.mul(clipped, advantages))),
    ratio,
    clippedLow: indicator(graph, graph.less(ratio, graph.scalar(1 - clipLow)), graph.less(advantages, zero)),
    clippedHigh: indicator(graph, graph.greater(ratio, graph.scalar(1 + clipHigh)), graph.greater(advantages, zero))
  }
}

const surrogate: Surrogate = (graph, { advantages }, logRatio, settings) =>
  clippedRatio(graph, graph.exp(logRatio), advantages, settings)

const standard: PolicyPreset["standard"] = ({ clipHigh, clipLow }) => ({
  name: "ppo",
  low: 1 - clipLow,
  high: 1 + clipHigh
})

/**
 * GRPO: A divided by the group's std, mean over a sequence's tokens, then over sequences. The paper's KL term (k3, β =
 * 0.04) is off by default.
 */
export const grpo: PolicyPreset = {
  name: "grpo",
  paper: "DeepSeekMath, arXiv 2402.03300, equation 3",
  surrogate,
  standard,
  needsSequences: false,
  has: ["clipLow", "clipHigh"],
  defaults: base
}

/** GRPO with the divisor of the original's trainer: the population standard deviation + 1e-8. */
export const atropos: PolicyPreset = {
  ...grpo,
  name: "atropos",
  defaults: { ...base, advantageScale: "population-std" }
}

/**
 * Dr. GRPO: no std, and a constant divisor instead of the sequence length, so that neither easy groups nor short
 * answers weigh more.
 */
export const drGrpo: PolicyPreset = {
  name: "dr-grpo",
  paper: "Understanding R1-Zero-like training, arXiv 2503.20783, section 3.2",
  surrogate,
  standard,
  needsSequences: false,
  has: ["clipLow", "clipHigh"],
  defaults: { ...base, advantageScale: "none", aggregation: "constant" }
}

/**
 * DAPO: higher upper clip (0.28 against 0.2), mean over the batch's tokens, truncated sequences masked, constant groups
 * dropped.
 */
export const dapo: PolicyPreset = {
  name: "dapo",
  paper: "DAPO, arXiv 2503.14476, equation 8",
  surrogate,
  standard,
  needsSequences: false,
  has: ["clipLow", "clipHigh"],
  defaults: { ...base, clipHigh: 0.28, aggregation: "token-mean", maskTruncated: true, dropConstantGroups: true }
}

/**
 * REINFORCE++: compares scores with the whole batch's, so that a prompt needs no group, and small groups share one
 * scale.
 */
export const reinforcePlusPlus: PolicyPreset = {
  ...grpo,
  name: "reinforce++",
  paper: "REINFORCE++, arXiv 2501.03262, equations 5 to 8",
  defaults: { ...base, baseline: "batch", advantageScale: "batch-std", aggregation: "token-mean" }
}

/** GRPO that masks tokens where trainer and engine disagree; the bounds of Ring-1T. */
export const icepop: PolicyPreset = {
  ...grpo,
  name: "icepop",
  paper: "Every Step Evolves (Ring-1T), arXiv 2510.18855, equation 2",
  defaults: {
    ...base,
    oldPolicy: "trainer",
    importanceSampling: "masked",
    importanceCap: 5,
    importanceFloor: 0.5
  }
}

/** GRPO that masks sequences to which the engine gave far less probability than the trainer. */
export const seqMis: PolicyPreset = {
  ...grpo,
  name: "seq-mis",
  paper: "When Speed Kills Stability, Liu et al. 2025",
  defaults: {
    ...base,
    oldPolicy: "trainer",
    importanceSampling: "masked",
    importanceLevel: "sequence",
    importanceCap: 3,
    importanceFloor: 0
  }
}
