/**
 * Groups to send, generated from a seed: token ids of a 128k vocabulary, a quarter of each sequence prompt, logprobs of
 * four decimals.
 */
import { Labels, type ScoredGroup, Trajectory } from "@atropos/core"

export interface Shape {
  readonly sequences: number
  readonly tokens: number
}

const generator = (seed: number) => {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

export const group = ({ sequences, tokens }: Shape, seed: number): ScoredGroup.ScoredGroup => {
  const next = generator(seed)
  const prompt = tokens >> 2
  const ids = Array.from({ length: sequences }, () =>
    Int32Array.from({ length: tokens }, () => Math.floor(next() * 128_000))
  )
  return {
    tokens: ids,
    masks: ids.map(({ length }) => Trajectory.maskFrom(prompt, length)),
    scores: Float64Array.from({ length: sequences }, (_, index) => (index % 2 === 0 ? 1 : -1)),
    inferenceLogprobs: ids.map((sequence) =>
      Float32Array.from(sequence, (_, t) =>
        t < prompt ? Trajectory.notSampled : -Math.round(next() * 50_000) / 10_000
      )
    )
  }
}

/** The group as a Python environment sends it. */
export const json = (
  { inferenceLogprobs, masks, scores, tokens }: ScoredGroup.ScoredGroup,
  envId: number | null
): Buffer =>
  Buffer.from(
    JSON.stringify({
      tokens: tokens.map((sequence) => Array.from(sequence)),
      masks: masks.map((mask, i) => Array.from(Labels.ofMask(tokens[i]!, mask))),
      scores: Array.from(scores),
      inference_logprobs: inferenceLogprobs?.map((sequence) =>
        Array.from(Labels.ofLogprobs(sequence), (one) => Math.round(one * 1e4) / 1e4)
      ),
      ref_logprobs: null,
      overrides: null,
      group_overrides: null,
      distill_token_ids: null,
      distill_logprobs: null,
      env_id: envId
    })
  )
