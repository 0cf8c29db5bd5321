/** Samples the next token of a choice from its row of logits, and ends the choice with its last token. */
import * as CounterRandom from "../base/CounterRandom.ts"
import type { SeededRequest } from "./EngineProtocol.ts"
import type { TokenCompletion, TokenEvent } from "./EngineRequests.ts"
import type { Choice } from "./Job.ts"
import { joined } from "../model/part/RoutedExperts.ts"
import * as LogitAdjustments from "./LogitAdjustments.ts"
import * as Sampler from "./Sampler.ts"

/**
 * Appends the token to `choice`; after the last one the completion is in its job's `finished`. Undefined if the logits
 * are NaN or infinite: the job has then failed.
 */
export const draw = <W>(choice: Choice<W>, request: SeededRequest, row: Sampler.Row): TokenEvent | undefined => {
  const { index, job } = choice
  const { policy, policyVersion } = job.version!
  const position = choice.tokens.length
  const uniform = request.temperature === 0 ? 0 : CounterRandom.uniform(request.seed, index, position)
  const source = drawnFrom(choice, request, row)
  if (source === undefined || job.broken !== undefined) {
    job.hasNoWay = true
    return undefined
  }
  const { token } = Sampler.draw(source, request, uniform)
  const logprob = Sampler.logprob(row, token)
  if (Number.isNaN(logprob)) {
    job.hasFailed = true
    return undefined
  }
  choice.tokens.push(token)
  choice.matcher?.accept(token)
  choice.counts?.set(token, (choice.counts.get(token) ?? 0) + 1)
  choice.logprobs.push(logprob)
  choice.versions.push(policyVersion)
  // Before the first token the prompt's experts, possibly in several chunks; then one token's at a time.
  const hasExperts = choice.routed.length > 0
  const routedExperts = position === 0 ? joined(choice.routed) : choice.routed.at(-1)
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
      ...versionsOf(choice),
      cachedTokens: job.cachedTokens,
      ...(hasExperts && { routedExperts: joined(choice.routed) }),
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
    cachedTokens: job.cachedTokens,
    ...(hasExperts && routedExperts !== undefined && { routedExperts }),
    ...(top > 0 ? { alternatives: choice.alternatives[position]! } : {}),
    ...(finishReason === undefined ? {} : { finishReason })
  }
}

const versionsOf = <W>({ versions }: Choice<W>): Pick<TokenCompletion, "policyVersion" | "policyVersions"> => {
  const policyVersion = versions.reduce((oldest, version) => Math.min(oldest, version), Number.POSITIVE_INFINITY)
  return versions.every((version) => version === policyVersion)
    ? { policyVersion }
    : { policyVersion, policyVersions: Int32Array.from(versions) }
}

/** The logits to sample from: the model's own, after the request's adjustments and mask. */
const drawnFrom = <W>(
  { counts, job, mask }: Choice<W>,
  request: SeededRequest,
  row: Sampler.Row
): Sampler.Row | undefined => {
  const adjusted =
    counts === undefined ? row : LogitAdjustments.apply(row, request, { prompt: job.promptSet, sampled: counts })
  return mask === undefined ? adjusted : Sampler.masked(adjusted, mask)
}
