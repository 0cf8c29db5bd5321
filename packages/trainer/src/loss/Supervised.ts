/**
 * Supervised objectives, which imitate the data's tokens or a teacher's distribution. Scores and advantages are unused.
 *
 *     sft       ℓ_t = -log π(o_t)
 *     distill   ℓ_t = Σ_k q_tk (log q_tk - log π(k)) = KL(q_t || π) over the teacher's top tokens k
 *
 * q is the teacher's probability of its top tokens, normalized to sum to 1; a position without candidates has no loss.
 * The gradient is that of the cross-entropy -Σ q log π, whose value is the metric `cross_entropy` (Hinton et al., arXiv
 * 1503.02531, section 2).
 */
import type { Graph } from "../graph/Graph.ts"
import { defaults, type LossOfTokens, type Objective, type Tokens } from "./Objective.ts"

const common = {
  ...defaults,
  isPolicyGradient: false,
  oldPolicy: "trainer",
  usesAdvantages: false,
  aggregation: "token-mean"
} as const

export interface SupervisedPreset {
  readonly name: string
  readonly paper: string
  readonly objective: Objective
}

const crossEntropy: LossOfTokens = Object.assign(
  (graph: Graph, { logprobs }: Tokens) => ({ loss: graph.neg(logprobs), metrics: [] }),
  { standard: { name: "cross_entropy" } as const }
)

/** Cross-entropy of the trained tokens, mean over the batch's tokens. */
export const sft: SupervisedPreset = {
  name: "sft",
  paper: "maximum likelihood",
  objective: {
    ...common,
    name: "sft",
    tokenLoss: crossEntropy
  }
}

/** KL divergence from the teacher over its top tokens, mean over the batch's tokens. */
export const distill: SupervisedPreset = {
  name: "distill",
  paper: "Hinton et al., arXiv 1503.02531, section 2; on sampled sequences: Agarwal et al., arXiv 2306.13649",
  objective: {
    ...common,
    name: "distill",
    candidates: "teacher",
    tokenLoss: (graph, { logprobs, teacherEntropies }) => {
      const crossEntropy = graph.neg(logprobs)
      return {
        loss: teacherEntropies === undefined ? crossEntropy : graph.sub(crossEntropy, teacherEntropies),
        metrics: [{ name: "cross_entropy", value: crossEntropy, reduce: "sum" }]
      }
    }
  }
}
