/**
 * VESPO: REINFORCE weighted by a smooth function of the whole sequence's ratio, which is 1 at 1 and decreases on both
 * sides.
 *
 *     W_i = Π_t r_it,   φ(W) = W^k exp(λ (1 - W))
 *     ℓ_it = -sg(φ(W_i)) A_it log π(o_it)        sg: no gradient
 *
 * π_old is the policy that sampled, so W is the full off-policy correction. k and λ differ for A >= 0 and A < 0. VESPO,
 * arXiv 2602.10693; log W is clamped to [log 1e-8, 20] as in its code and TRL's.
 */
import { base, type PolicyPreset, type Surrogate } from "./Surrogate.ts"

const lowest = Math.log(1e-8)

const surrogate: Surrogate = (graph, { advantages, logprobs, sequenceSum }, logRatio, settings) => {
  const { vespoDecayNegative, vespoDecayPositive, vespoPowerNegative, vespoPowerPositive } = settings
  const logWeight = graph.clip(graph.stopGradient(sequenceSum(logRatio)), lowest, 20)
  const weight = graph.exp(logWeight)
  const isBad = graph.less(advantages, graph.scalar(0))
  const choose = (bad: number, good: number) => graph.where(isBad, graph.scalar(bad), graph.scalar(good))
  const power = choose(vespoPowerNegative, vespoPowerPositive)
  const decay = choose(vespoDecayNegative, vespoDecayPositive)
  const fall = graph.mul(decay, graph.sub(graph.scalar(1), weight))
  const phi = graph.stopGradient(graph.exp(graph.add(fall, graph.mul(power, logWeight))))
  return { loss: graph.neg(graph.mul(graph.mul(phi, advantages), logprobs)), ratio: weight }
}

export const vespo: PolicyPreset = {
  name: "vespo",
  paper: "VESPO, arXiv 2602.10693",
  surrogate,
  needsSequences: true,
  noCorrection:
    "its weight W is that correction, of the whole sequence and smoothly bounded: with oldPolicy engine it is taken " +
    "against the policy that sampled",
  has: ["vespoPowerPositive", "vespoDecayPositive", "vespoPowerNegative", "vespoDecayNegative"],
  defaults: { ...base, aggregation: "token-mean" }
}
