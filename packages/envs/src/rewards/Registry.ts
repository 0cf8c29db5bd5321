/**
 * Rewards by name, for configuration files: `"format"`, or `{ type: "format", weight: 2, params: { preferred_tags:
 * ["plan"] } }`.
 *
 * The original's spellings (`accuracyx`, `repetition_penalty`, …) are accepted: case and underscores are ignored.
 * Parameters are validated: an unknown one is rejected, whereas the original ignores it.
 */
import { Effect, Schema } from "effect"
import { fromFields } from "@atropos/core/base/Settings"
import * as Reason from "@atropos/core/base/Reason"
import type { MathVerifier, MathVerifierError } from "../verify/MathVerifier.ts"
import { accuracy, accuracyX, cascadingR1Math, r1 } from "./Accuracy.ts"
import { chandasMeter, metreNames } from "./ChandasMeter.ts"
import { cosineScaled, type Embedder, type EmbeddingError } from "./CosineScaled.ts"
import { crosswordFormat, format, formatReasoning } from "./Format.ts"
import { reasoningSteps } from "./ReasoningSteps.ts"
import { repetitionPenalty } from "./Repetition.ts"
import { type Reward, weighted } from "./Reward.ts"

export class RewardSpecError extends Schema.TaggedError<RewardSpecError>()("RewardSpecError", {
  type: Schema.String,
  message: Schema.String
}) {}

/** A reward in configuration files; parameters in the original's snake_case. */
export type RewardSpec =
  | string
  | { readonly type: string; readonly weight?: number; readonly params?: { readonly [name: string]: unknown } }

/** Requirements of registered rewards: a verifier of math answers, an embedder of texts. */
export type Registered = Reward<MathVerifierError | EmbeddingError, MathVerifier | Embedder>

const flag = Schema.optionalKey(Schema.Boolean)
const number = Schema.optionalKey(Schema.Finite)
const count = Schema.optionalKey(Schema.Natural)

/** A reward whose options, all optional, are these fields. */
const entry = <const Fields extends Schema.Struct.Fields>(
  fields: Fields,
  make: (options: Schema.Struct.Type<Fields>) => Registered
) => {
  const { decode } = fromFields(fields)
  return (params: unknown) => Effect.map(decode(params), make)
}

const entries = {
  accuracy: entry({ maxBoxedThreshold: count, splitOnThinkTag: flag }, accuracy),
  accuracy_x: entry({ caseSensitive: flag, exactMatch: flag, rewardValue: number }, accuracyX),
  cascading_r1_math: entry({ formatBonus: number }, cascadingR1Math),
  chandas_meter: entry({ meter: Schema.optionalKey(Schema.Literals(metreNames)) }, ({ meter }) => chandasMeter(meter)),
  cosine_scaled: entry({ maxReward: number, minReward: number, scaleFactor: number }, cosineScaled),
  crossword_format: entry({ rewardValue: number, strict: flag }, crosswordFormat),
  format: entry(
    { caseSensitive: flag, preferredTags: Schema.optionalKey(Schema.Array(Schema.String)), requireAllTags: flag },
    format
  ),
  format_reasoning: entry({ rewardValue: number }, formatReasoning),
  r1: entry({ accuracyWeight: number, formatWeight: number }, r1),
  reasoning_steps: entry({ baseScore: number, minSteps: count, minWords: count }, reasoningSteps),
  repetition_penalty: entry(
    { minSentences: count, minWords: count, sentencePenalty: number, shortTextPenalty: number, threshold: number },
    repetitionPenalty
  )
}

export const names: ReadonlyArray<string> = Object.keys(entries)

const key = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll("_", "")
    .replace(/reward$/, "")
const byKey = new Map(Object.entries(entries).map(([name, make]) => [key(name), make]))

export const create = Effect.fn("Rewards.create")(function* (
  spec: RewardSpec
): Effect.fn.Return<Registered, RewardSpecError> {
  const { params = {}, type, weight = 1 } = typeof spec === "string" ? { type: spec } : spec
  const make = byKey.get(key(type))
  if (make === undefined) {
    return yield* new RewardSpecError({
      type,
      message: `unknown reward ${JSON.stringify(type)}; known: ${names.join(", ")}`
    })
  }
  const reward = yield* Effect.mapError(
    make(params),
    (error) => new RewardSpecError({ type, message: `parameters of the reward ${type}: ${Reason.oneLine(error)}` })
  )
  return weighted(reward, weight)
})
