/**
 * Corrects for the difference between the sampling engine's policy and the trainer's, by a weight on each token's loss,
 * without gradient.
 *
 *     w_t = π_old(o_t) / π_engine(o_t), of the token, or of the sequence: w = Π_t w_t at each of its tokens
 *     truncated   max(c, min(w, C))               (TIS, Yao et al. 2025, "Your efficient RL framework secretly brings
 *                                                  you off-policy RL training"; c: TRL)
 *     masked      w if c <= w <= C, else 0        (of tokens: IcePop, Ring-1T, arXiv 2510.18855, equation 2; of
 *                                                  sequences: MIS, Liu et al. 2025, "When Speed Kills Stability")
 *
 * π_old must be the trainer's own (`oldPolicy` trainer): with the engine's there is nothing to correct. The sum of a
 * sequence's log w_t is clamped to ±20.
 */
import type { Graph } from "../graph/Graph.ts"
import type { Value } from "../graph/Value.ts"

export type ImportanceSampling = "none" | "truncated" | "masked"

export type ImportanceLevel = "token" | "sequence"

export interface ImportanceWeights {
  readonly weight: Value
  /** 1 where a bound applies. */
  readonly capped: Value
}

/** `logWeight` is log w, 0 where masked; `floor` is c, `cap` C. */
export const weights = (
  graph: Graph,
  kind: "truncated" | "masked",
  logWeight: Value,
  { cap, floor }: { readonly cap: number; readonly floor: number }
): ImportanceWeights => {
  const weight = graph.exp(logWeight)
  const isAbove = graph.greater(weight, graph.scalar(cap))
  const isOutside = floor === 0 ? isAbove : graph.or(isAbove, graph.less(weight, graph.scalar(floor)))
  return {
    weight: graph.stopGradient(
      kind === "truncated" ? graph.clip(weight, floor, cap) : graph.where(isOutside, graph.scalar(0), weight)
    ),
    capped: graph.cast(isOutside, graph.real)
  }
}
