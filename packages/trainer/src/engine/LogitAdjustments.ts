/**
 * Adjusts logits before sampling: bias, then penalties, in vLLM's order and with its formulas.
 *
 *     z += bias[token]
 *     z = z > 0 ? z / repetition : z * repetition    tokens of the prompt or of the answer so far
 *     z -= frequency * count + presence              tokens of the answer so far, count times
 *
 * The repetition penalty is transformers' `RepetitionPenaltyLogitsProcessor` (https://arxiv.org/abs/1909.05858), the
 * other two are OpenAI's. Temperature, top-k, top-p and min-p come after. Pure.
 */
import type { Adjusting } from "./EngineRequests.ts"
import * as Sampler from "./Sampler.ts"

export interface History {
  readonly prompt: ReadonlySet<number>
  /** Count of each token in the answer so far. */
  readonly sampled: ReadonlyMap<number, number>
}

export const isAdjusting = ({
  frequencyPenalty = 0,
  logitBias = {},
  presencePenalty = 0,
  repetitionPenalty = 1
}: Adjusting): boolean =>
  frequencyPenalty !== 0 || presencePenalty !== 0 || repetitionPenalty !== 1 || Object.keys(logitBias).length > 0

export const apply = (row: Sampler.Row, adjusting: Adjusting, { prompt, sampled }: History): Sampler.Row => {
  const { frequencyPenalty = 0, logitBias = {}, presencePenalty = 0, repetitionPenalty = 1 } = adjusting
  const changed = new Map<number, number>()
  for (const [id, bias] of Object.entries(logitBias)) changed.set(Number(id), row.logits[Number(id)]! + bias)
  const logitOf = (token: number) => changed.get(token) ?? row.logits[token]!
  const repeat = (token: number) => {
    const logit = logitOf(token)
    changed.set(token, logit > 0 ? logit / repetitionPenalty : logit * repetitionPenalty)
  }
  if (repetitionPenalty !== 1) {
    for (const token of prompt) repeat(token)
    for (const token of sampled.keys()) if (!prompt.has(token)) repeat(token)
  }
  if (frequencyPenalty !== 0 || presencePenalty !== 0) {
    for (const [token, count] of sampled) {
      changed.set(token, logitOf(token) - frequencyPenalty * count - presencePenalty)
    }
  }
  return Sampler.replaced(row, changed)
}
