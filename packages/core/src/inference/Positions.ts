/** Logprobs by position, as vLLM's engine gives them: `{ "<id>": logprob }` or `{ "<id>": { logprob, rank, decoded_token } }`, alone or in a list. */
import { Effect, Schema } from "effect"
import type { InferenceError, PromptLogprobs, TokenChoice } from "../Inference.ts"
import { malformed } from "./Transport.ts"

const Logprob = Schema.Union([Schema.Finite, Schema.Struct({ logprob: Schema.Finite })])
const isTokenId = (key: string): boolean => /^\d+$/.test(key)
const Entry = Schema.Record(Schema.String, Logprob).check(
  Schema.makeFilter((entry) => Object.keys(entry).every(isTokenId) || "logprobs must be keyed by token id")
)
export const Position = Schema.NullOr(Schema.Union([Entry, Schema.Array(Entry)]))
export type Position = typeof Position.Type

/** Ids and logprobs of a position, in its order. */
export const pairsOf = (position: Position): ReadonlyArray<readonly [id: number, logprob: number]> =>
  entriesOf(position).flatMap((entry) =>
    Object.entries(entry).map(
      ([id, logprob]) => [Number(id), typeof logprob === "number" ? logprob : logprob.logprob] as const
    )
  )

const entriesOf = (position: Position): ReadonlyArray<typeof Entry.Type> => {
  if (position === null) return []
  return isList(position) ? position : [position]
}
const isList = (position: NonNullable<Position>): position is ReadonlyArray<typeof Entry.Type> =>
  Array.isArray(position)

/** The positions of a prompt, one for each of its tokens. */
export const ofPrompt = (
  server: string,
  inputIds: ReadonlyArray<number>,
  positions: ReadonlyArray<Position>
): Effect.Effect<PromptLogprobs, InferenceError> => {
  if (positions.length !== inputIds.length) {
    return Effect.fail(
      malformed(
        server,
        `answer of ${server}: ${inputIds.length} prompt tokens but ${positions.length} positions with logprobs`
      )
    )
  }
  const pairs = positions.map(pairsOf)
  return Effect.succeed({
    promptTokens: inputIds,
    topTokenIds: pairs.map((position) => position.map(([id]) => id)),
    topLogprobs: pairs.map((position) => position.map(([, logprob]) => logprob))
  })
}

/** What vLLM writes for a logprob that it has not, or that JSON cannot say. */
const missing = -9999

/** A choice whose logprobs are all there. */
export const complete = <C extends Pick<TokenChoice, "logprobs">>(
  server: string,
  choice: C
): Effect.Effect<C, InferenceError> => {
  const at = choice.logprobs.findIndex((logprob) => logprob <= missing)
  return at === -1
    ? Effect.succeed(choice)
    : Effect.fail(
        malformed(server, `answer of ${server}: no logprob of the sampled token at output position ${at} (${missing})`)
      )
}
