/**
 * Parses logprobs by position, in the forms of vLLM's engine: `{ "<id>": logprob }` or `{ "<id>": { logprob, rank,
 * decoded_token } }`, alone or in a list.
 */
import { Effect, Schema } from "effect"
import type { InferenceError, PromptLogprobs, TokenChoice } from "./Inference.ts"
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

/** The positions of a prompt, one per token. */
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
  const [at, wrong] = findWrong(pairs) ?? []
  if (wrong !== undefined) {
    const all = pairs.flatMap((position) => position.map(([, logprob]) => logprob))
    return Effect.fail(malformed(server, aboveOne(server, `token ${wrong[0]} at prompt position ${at}`, wrong[1], all)))
  }
  return Effect.succeed({
    promptTokens: inputIds,
    topTokenIds: pairs.map((position) => position.map(([id]) => id)),
    topLogprobs: pairs.map((position) => position.map(([, logprob]) => logprob))
  })
}

/** vLLM's value for a logprob that is missing or not representable in JSON. */
const missing = -9999
/** Max amount by which rounding lifts the logprob of a certain token above 0. */
const rounding = 0.01

/** Ids are stored in 32 bits. */
const maxId = 2 ** 31 - 1

/** Guesses what a server returns instead of logprobs. */
const mistakenFor = (values: ReadonlyArray<number>): string => {
  if (values.every((value) => value >= 0 && value <= 1)) return "it seems to report probabilities instead of logprobs"
  if (values.every((value) => value >= 0)) return "it seems to omit the sign of logprobs"
  return "it seems to report logits without a softmax"
}

const aboveOne = (server: string, token: string, logprob: number, all: ReadonlyArray<number>): string =>
  `answer of ${server}: ${token} has the logprob ${logprob}, which is above 0: ${mistakenFor(all)}`

type Pair = readonly [id: number, logprob: number]

const findWrong = (positions: ReadonlyArray<ReadonlyArray<Pair>>): readonly [at: number, pair: Pair] | undefined => {
  for (const [at, pairs] of positions.entries()) {
    const wrong = pairs.find(([, logprob]) => logprob > rounding)
    if (wrong !== undefined) return [at, wrong]
  }
  return undefined
}

/** Fails on invalid logprobs: missing, or of a probability above 1. `isSampled` selects those that count. */
export const check = (
  server: string,
  { logprobs, tokens }: Pick<TokenChoice, "logprobs" | "tokens">,
  isSampled: (at: number) => boolean = () => true
): Effect.Effect<void, InferenceError> => {
  const at = logprobs.findIndex((logprob, at) => isSampled(at) && (logprob <= missing || logprob > rounding))
  const unknown = tokens.find((id) => id > maxId)
  if (unknown !== undefined) {
    return Effect.fail(malformed(server, `answer of ${server}: invalid token ${unknown}: no vocabulary is that large`))
  }
  const logprob = logprobs[at]
  if (logprob === undefined) return Effect.void
  return Effect.fail(
    malformed(
      server,
      logprob <= missing
        ? `answer of ${server}: no logprob of the sampled token at output position ${at} (${missing})`
        : aboveOne(
            server,
            `token ${tokens[at]} at output position ${at}`,
            logprob,
            logprobs.filter((_, at) => isSampled(at))
          )
    )
  )
}

/** Checks that a choice has all logprobs and that they are valid. */
export const complete = <C extends Pick<TokenChoice, "logprobs" | "tokens">>(
  server: string,
  choice: C
): Effect.Effect<C, InferenceError> => Effect.as(check(server, choice), choice)
