/**
 * Estimators of KL(π || π_ref) from the sampled token, with d = log π - log π_ref.
 *
 *     k1 = d                unbiased, high variance; its own gradient is 0 on average, so it needs the ratio in front
 *     k2 = d² / 2           biased value, gradient of the KL divergence on-policy
 *     k3 = e^-d + d - 1     unbiased, never negative (GRPO, arXiv 2402.03300, equation 4)
 *
 * Schulman, Approximating KL divergence, 2020, http://joschu.net/blog/kl-approx.html. With the ratio in front (r k,
 * DeepSeek-V3.2, arXiv 2512.02556, section 3.1) value and gradient are those of the KL divergence for k1 and k3, also
 * off-policy.
 */
import type { Graph } from "../graph/Graph.ts"
import type { Value } from "../graph/Value.ts"

export type Kl = "k1" | "k2" | "k3"

/** `difference` is d, 0 where masked. */
export const estimate = (graph: Graph, kl: Kl, difference: Value): Value => {
  if (kl === "k1") return difference
  if (kl === "k2") return graph.scale(graph.mul(difference, difference), 0.5)
  return graph.sub(graph.add(graph.exp(graph.neg(difference)), difference), graph.scalar(1))
}
