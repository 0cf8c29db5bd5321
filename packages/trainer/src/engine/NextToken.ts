/** Draws the next token of a choice from its row of logits, and ends the choice with its last. */
import * as CounterRandom from "../base/CounterRandom.ts"
import type { SeededRequest } from "./EngineProtocol.ts"
import type { TokenEvent } from "./EngineRequests.ts"
import type { Choice } from "./Job.ts"
import * as Sampler from "./Sampler.ts"

/**
 * The token, which `choice` has now; with its last one, the completion is in its job's `finished`. Undefined where the
 * logits are not finite, so that there is none to draw: its job has failed then.
 */
export const draw = <W>(choice: Choice<W>, request: SeededRequest, row: Sampler.Row): TokenEvent | undefined => {
  const { index, job } = choice
  const { policy, policyVersion } = job.version!
  const position = choice.tokens.length
  const uniform = request.temperature === 0 ? 0 : CounterRandom.uniform(request.seed, index, position)
  const { logprob, token } = Sampler.draw(row, request, uniform)
  if (Number.isNaN(logprob)) {
    job.hasFailed = true
    return undefined
  }
  choice.tokens.push(token)
  choice.logprobs.push(logprob)
  const top = request.topLogprobs ?? 0
  if (top > 0) choice.alternatives.push(Sampler.alternatives(row, top))
  const finishReason = request.stopTokenIds.includes(token)
    ? "stop"
    : position + 1 === request.maxTokens
      ? "length"
      : undefined
  if (finishReason !== undefined) {
    job.finished[index] = {
      tokens: Int32Array.from(choice.tokens),
      logprobs: Float32Array.from(choice.logprobs),
      finishReason,
      policy,
      policyVersion,
      ...(top > 0 ? { alternatives: choice.alternatives } : {})
    }
    job.left--
  }
  return {
    index,
    token,
    logprob,
    policy,
    policyVersion,
    ...(top > 0 ? { alternatives: choice.alternatives[position]! } : {}),
    ...(finishReason === undefined ? {} : { finishReason })
  }
}
