/**
 * Distillation on the policy's own samples: the reverse KL divergence from a teacher, by the policy gradient. A token's
 * reward is how much more likely the teacher thinks it.
 *
 *     ℓ_t = -r_t sg(log q(o_t) - log π(o_t))        sg: no gradient
 *
 * Its gradient where the ratio is 1 is that of KL(π || q) at each position, with what is before it as given. Agarwal et
 * al., arXiv 2306.13649 (reverse KL, λ = 1); MiniLLM, arXiv 2306.08543, equation 2, without its sum over later tokens.
 * Scores play no part. The teacher's logprob of a token is taken from its candidates there; a token that is not among
 * them has no loss, and is told by the figures `teacher` (log q - log π) and `teacher_tokens`, how many those are.
 */
import { logBound, plain, type PolicyPreset, type Surrogate } from "./Surrogate.ts"

const surrogate: Surrogate = (graph, { logprobs, teacherKnown, teacherLogprobs }, logRatio) => {
  // Present: the preset asks for them.
  const [known, teacher] = [teacherKnown!, teacherLogprobs!]
  const difference = graph.clip(graph.sub(teacher, graph.stopGradient(logprobs)), -logBound, logBound)
  const reward = graph.mul(difference, known)
  const ratio = graph.exp(logRatio)
  return {
    loss: graph.neg(graph.mul(ratio, reward)),
    ratio,
    metrics: [
      { name: "teacher", value: reward, reduce: "sum" },
      { name: "teacher_tokens", value: known, reduce: "sum" }
    ]
  }
}

export const onPolicyDistill: PolicyPreset = {
  name: "on-policy-distill",
  paper: "On-Policy Distillation of Language Models, arXiv 2306.13649; MiniLLM, arXiv 2306.08543, equation 2",
  surrogate,
  needsSequences: false,
  usesAdvantages: false,
  needsTeacher: true,
  has: [],
  defaults: { ...plain, aggregation: "token-mean" }
}
