/**
 * A vLLM server: OpenAI's routes for text, `POST /generate` for exact tokens and logprobs, `GET /health`.
 *
 * `/generate` is the endpoint of the original's bundled server (example_trainer/vllm_api_server.py); prompts go as ids and nothing is tokenised
 * again. The sampled token of a position is named by `token_ids` where the answer has them, else it is the first key of the position's map
 * (with `logprobs: 0` there is no other). The end-of-sequence token is part of the output.
 */
import { Effect, Schema } from "effect"
import type { InferenceError, PromptLogprobs, PromptRequest, TokenChoice } from "../Inference.ts"
import * as Sampling from "../Sampling.ts"
import * as Adapters from "./Adapters.ts"
import type { Backend, IdsRequest } from "./Backend.ts"
import * as OpenAi from "./OpenAi.ts"
import { checkCount, decode, headerPolicyVersion } from "./Reply.ts"
import { malformed } from "./Transport.ts"

// A position is `{ "<id>": logprob }` or, from newer servers, `{ "<id>": { logprob, rank, decoded_token } }`, alone or in a list.
const Logprob = Schema.Union([Schema.Finite, Schema.Struct({ logprob: Schema.Finite })])
const isTokenId = (key: string): boolean => /^\d+$/.test(key)
const Entry = Schema.Record(Schema.String, Logprob).check(
  Schema.makeFilter((entry) => Object.keys(entry).every(isTokenId) || "logprobs must be keyed by token id")
)
const Position = Schema.NullOr(Schema.Union([Entry, Schema.Array(Entry)]))
type Position = typeof Position.Type

const Generated = Schema.Struct({
  logprobs: Schema.Array(Schema.Array(Position)),
  finish_reasons: Schema.Array(Schema.NullOr(Schema.String)),
  token_ids: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.Array(Schema.Natural)))),
  policy_version: Schema.optionalKey(Schema.NullOr(Schema.Finite)),
  /** What our own policy server says its logprobs are of. */
  logprobs_mode: Schema.optionalKey(Schema.NullOr(Sampling.LogprobsMode))
})
const Prompted = Schema.Struct({
  prompt_logprobs: Schema.Union([Schema.Array(Position), Schema.Array(Schema.Array(Position))])
})
const decodeGenerated = decode(Generated)
const decodePrompted = decode(Prompted)

export const make = Effect.fn("Vllm.make")(function* (options: OpenAi.Options) {
  const { settings, transport } = options
  const openAi = yield* OpenAi.make(options)
  const { server } = openAi
  const root = rootOf(server)
  const apiKey = settings.apiKey ?? ""
  const adapters = options.adapters ?? Adapters.none
  const generate = (inputIds: ReadonlyArray<number>, body: { readonly [key: string]: unknown }) =>
    adapters.asking((adapter) =>
      transport
        .json({
          method: "POST",
          server,
          url: `${root}/generate`,
          apiKey,
          body: {
            prompt: { prompt_token_ids: inputIds },
            ...(adapter !== undefined && OpenAi.asModel(adapter)),
            ...body
          }
        })
        .pipe(Effect.map((reply) => ({ ...reply, adapterVersion: adapter?.policyVersion })))
    )

  const tokens = Effect.fn("Vllm.tokens")(function* (request: IdsRequest) {
    const n = request.n ?? 1
    const reply = yield* generate(request.inputIds, { logprobs: 0, ...OpenAi.samplingBody(request) })
    const body = yield* decodeGenerated(server, reply.body)
    yield* checkCount(server, n, body.logprobs.length)
    if (body.finish_reasons.length !== body.logprobs.length) {
      return yield* malformed(
        server,
        `answer of ${server}: ${body.logprobs.length} lists of logprobs but ${body.finish_reasons.length} finish reasons`
      )
    }
    const policyVersion = body.policy_version ?? headerPolicyVersion(reply) ?? reply.adapterVersion
    return yield* Effect.forEach(body.logprobs, (positions, index) =>
      Effect.map(sampled(server, positions, body.token_ids?.[index]), (one): TokenChoice => ({
        ...one,
        finishReason: body.finish_reasons[index] ?? "unknown",
        sampling: Sampling.ofRequest(request, body.logprobs_mode ?? "raw"),
        ...(policyVersion === undefined ? {} : { policyVersion })
      }))
    )
  })

  const promptLogprobs = Effect.fn("Vllm.promptLogprobs")(function* ({ inputIds, topK }: PromptRequest) {
    const reply = yield* generate(inputIds, {
      prompt_logprobs: Math.max(1, topK),
      n: 1,
      temperature: 0,
      top_p: 1,
      max_tokens: 1
    })
    const { prompt_logprobs: given } = yield* decodePrompted(server, reply.body)
    // `[position]`, or `[[position]]` with one list per sequence: only in the second is the first element a list of one per prompt token.
    const positions = isNested(given, inputIds.length) ? given[0]! : given
    if (positions.length !== inputIds.length) {
      return yield* malformed(
        server,
        `answer of ${server}: ${inputIds.length} prompt tokens but ${positions.length} positions with logprobs`
      )
    }
    const pairs = positions.map(pairsOf)
    return {
      promptTokens: inputIds,
      topTokenIds: pairs.map((position) => position.map(([id]) => id)),
      topLogprobs: pairs.map((position) => position.map(([, logprob]) => logprob))
    } satisfies PromptLogprobs
  })

  return {
    ...openAi,
    capabilities: { tokens: true, promptLogprobs: true },
    tokens,
    promptLogprobs,
    health: transport.isThere({ server, url: `${root}/health`, apiKey })
  } satisfies Backend
})

/** Where a server's own routes are: its OpenAI address without the version at the end (and only there: Q-61). */
export const rootOf = (baseUrl: string): string => baseUrl.replace(/\/v1$/, "")

const isNested = (
  given: ReadonlyArray<Position> | ReadonlyArray<ReadonlyArray<Position>>,
  length: number
): given is ReadonlyArray<ReadonlyArray<Position>> =>
  given.length === 1 && Array.isArray(given[0]) && (length !== 1 || Array.isArray(given[0][0]) || given[0][0] === null)

const pairsOf = (position: Position): ReadonlyArray<readonly [id: number, logprob: number]> =>
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

const sampled = Effect.fnUntraced(function* (
  server: string,
  positions: ReadonlyArray<Position>,
  ids: ReadonlyArray<number> | undefined
): Effect.fn.Return<Omit<TokenChoice, "finishReason">, InferenceError> {
  if (ids !== undefined && ids.length !== positions.length) {
    return yield* malformed(
      server,
      `answer of ${server}: ${ids.length} token ids but ${positions.length} positions with logprobs`
    )
  }
  const tokens: Array<number> = []
  const logprobs: Array<number> = []
  for (const [index, position] of positions.entries()) {
    const pairs = pairsOf(position)
    const pair = ids === undefined ? pairs[0] : pairs.find(([id]) => id === ids[index])
    if (pair === undefined) {
      return yield* malformed(
        server,
        `answer of ${server}: no logprob of the sampled token at output position ${index}`
      )
    }
    tokens.push(pair[0])
    logprobs.push(pair[1])
  }
  return { tokens, logprobs }
})
