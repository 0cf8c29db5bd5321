/**
 * Correction for the sampling engine's policy not being the trainer's, as a weight of each token's loss without
 * gradient.
 *
 *     w_t = π_old(o_t) / π_engine(o_t)
 *     truncated   min(w_t, C)                     (TIS, Yao et al. 2025, "Your efficient RL framework secretly brings
 *                                                  you off-policy RL training")
 *     masked      w_t if 1/C <= w_t <= C, else 0  (IcePop, Ring-1T, arXiv 2510.18855)
 *
 * π_old must be the trainer's own (`oldPolicy` trainer): with the engine's there is nothing to correct.
 */
import type { Graph } from "../graph/Graph.ts"
import type { Value } from "../graph/Value.ts"

export type ImportanceSampling = "none" | "truncated" | "masked"

export interface ImportanceWeights {
  readonly weight: Value
  /** 1 where the bound acts. */
  readonly capped: Value
}

/** `logWeight` is log w, 0 where masked. */
export const weights = (
  graph: Graph,
  kind: "truncated" | "masked",
  logWeight: Value,
  cap: number
): ImportanceWeights => {
  const weight = graph.exp(logWeight)
  const isAbove = graph.greater(weight, graph.scalar(cap))
  if (kind === "truncated") {
    return {
      weight: graph.stopGradient(graph.min(weight, graph.scalar(cap))),
      capped: graph.cast(isAbove, graph.real)
    }
  }
  const isOutside = graph.or(isAbove, graph.less(weight, graph.scalar(1 / cap)))
  return {
    weight: graph.stopGradient(graph.where(isOutside, graph.scalar(0), weight)),
    capped: graph.cast(isOutside, graph.real)
  }
}
