/**
 * Reads which weights sampled each token of an answer, as vLLM states it from 0.33 on (`weight_versions`): the label of
 * the weights (`WeightLabel`) of each span of tokens, in order and without gaps. `/inference/v1/generate` always states
 * it, chats and `/v1/completions` on request (`return_weight_versions`).
 */
import { Effect, Option, Schema } from "effect"
import type { InferenceError } from "../wire/Inference.ts"
import { malformed } from "../wire/Transport.ts"
import * as WeightLabel from "./WeightLabel.ts"

export const Spans = Schema.Array(Schema.Struct({ version: Schema.String, start: Schema.Natural, end: Schema.Natural }))
export type Spans = typeof Spans.Type

/** Undefined for weights without a number, and for unverified ones. */
const policyVersionOf = ({ version }: Spans[number]): number | undefined => {
  const { name } = WeightLabel.read(version)
  return name === undefined ? undefined : WeightLabel.versionOf(name)
}

/** The oldest known policy version of an answer; undefined if none is known. */
export const oldest = (spans: Spans): number | undefined => {
  const versions = spans.map(policyVersionOf).filter((version) => version !== undefined)
  return versions.length === 0 ? undefined : Math.min(...versions)
}

interface Versions {
  readonly policyVersion?: number
  readonly policyVersions?: ReadonlyArray<number | undefined>
}

/** The policy versions of an answer's tokens, as in `TokenChoice`. Fails if the spans do not cover the tokens. */
export const ofTokens = (server: string, spans: Spans, tokens: number): Effect.Effect<Versions, InferenceError> => {
  const isWhole = spans.every(({ end, start }, at) => start === (spans[at - 1]?.end ?? 0) && end > start)
  if (!isWhole || (spans.at(-1)?.end ?? 0) !== tokens) {
    const given = spans.map(({ end, start }) => `${start} to ${end}`).join(", ")
    return Effect.fail(
      malformed(server, `answer of ${server}: ${tokens} token ids but weight_versions of ${given || "none"}`)
    )
  }
  const policyVersion = oldest(spans)
  const isMixed = spans.some((span) => policyVersionOf(span) !== policyVersion)
  return Effect.succeed({
    ...(policyVersion !== undefined && { policyVersion }),
    ...(isMixed && {
      policyVersions: spans.flatMap((span) =>
        Array.from({ length: span.end - span.start }, () => policyVersionOf(span))
      )
    })
  })
}

const decodeBody = Schema.decodeUnknownOption(
  Schema.Struct({ choices: Schema.NonEmptyArray(Schema.Struct({ weight_versions: Spans })) })
)

/** True if a body states that verified weights sampled all its tokens, false if not; undefined if it states nothing. */
export const areVerified = (body: unknown): boolean | undefined =>
  Option.getOrUndefined(
    Option.map(decodeBody(body), ({ choices }) =>
      choices.every(({ weight_versions: spans }) =>
        spans.every(({ version }) => WeightLabel.read(version).name !== undefined)
      )
    )
  )
