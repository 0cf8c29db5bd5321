/**
 * On-policy distillation: minimises the reverse KL divergence from a teacher on the policy's own samples, by the policy
 * gradient. A token's reward is the teacher's log probability advantage over the policy.
 *
 *     ℓ_t = -r_t sg(log q(o_t) - log π(o_t))        sg: no gradient
 *
 * At ratio 1 its gradient is that of KL(π || q) at each position, given the preceding tokens. Agarwal et al., arXiv
 * 2306.13649 (reverse KL, λ = 1); MiniLLM, arXiv 2306.08543, equation 2, without its sum over later tokens. Scores are
 * unused. The teacher's logprob of a token comes from its candidates there; a token that is not among them has no loss.
 * Metrics: `teacher` (log q - log π), and `teacher_tokens`, the number of tokens that have one.
 */
import { logBound, base, type PolicyPreset, type Surrogate } from "./Surrogate.ts"

const surrogate: Surrogate = (graph, { logprobs, teacherKnown, teacherLogprobs }, logRatio) => {
  // Present: the preset requests them.
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
  defaults: { ...base, aggregation: "token-mean" }
}
