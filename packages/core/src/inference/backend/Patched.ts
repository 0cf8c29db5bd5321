/**
 * The original's server around vLLM's engine (example_trainer/vllm_api_server.py) and our policy server, which has the
 * same endpoint for exact tokens and logprobs: `POST /generate`. Stock vLLM does not have it: see `Vllm`.
 *
 * Prompts are sent as ids and nothing is re-tokenized. The sampled token of a position is in `token_ids` if present,
 * else it is the first key of the position's map (the only one with `logprobs: 0`). The end-of-sequence token is part
 * of the output.
 */
import { Effect, Schema } from "effect"
import type { InferenceError, PromptRequest, TokenChoice } from "../wire/Inference.ts"
import * as Sampling from "../../trajectory/Sampling.ts"
import * as Adapters from "./Adapters.ts"
import { type Backend, type IdsRequest, unsupported } from "./Backend.ts"
import { rootOf } from "./Identify.ts"
import * as LoadedPolicies from "./LoadedPolicies.ts"
import * as OpenAi from "./OpenAi.ts"
import * as Positions from "../wire/Positions.ts"
import { checkCount, decode, headerPolicyVersion } from "./Reply.ts"
import * as SamplingBody from "./SamplingBody.ts"
import { malformed } from "../wire/Transport.ts"

const Generated = Schema.Struct({
  logprobs: Schema.Array(Schema.Array(Positions.Position)),
  finish_reasons: Schema.Array(Schema.NullOr(Schema.String)),
  token_ids: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.Array(Schema.Natural)))),
  policy_version: Schema.optionalKey(Schema.NullOr(Schema.Finite)),
  /** Per token, if weights changed in the middle. */
  policy_versions: Schema.optionalKey(Schema.Array(Schema.Array(Schema.Int))),
  /** The logprobs mode reported by our own policy server. */
  logprobs_mode: Schema.optionalKey(Schema.NullOr(Sampling.LogprobsMode))
})
const Prompted = Schema.Struct({
  prompt_logprobs: Schema.Union([Schema.Array(Positions.Position), Schema.Array(Schema.Array(Positions.Position))])
})
const decodeGenerated = decode(Generated)
const decodePrompted = decode(Prompted)

export const make = Effect.fn("Patched.make")(function* (options: OpenAi.Options) {
  const { identity, settings, transport } = options
  const { adapters: given = Adapters.makeNone() } = options
  const adapters =
    identity.kind === "policy" && settings.adapterPrefix === null
      ? LoadedPolicies.make(settings, transport, given)
      : given
  const openAi = yield* OpenAi.make({ ...options, adapters })
  const { server } = openAi
  const root = rootOf(server)
  const apiKey = settings.apiKey ?? ""
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

  const tokens = Effect.fn("Patched.tokens")(function* (request: IdsRequest) {
    const n = request.n ?? 1
    const reply = yield* generate(request.inputIds, { logprobs: 0, ...SamplingBody.vllm(request) })
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
        sampling: SamplingBody.recorded(request, body.logprobs_mode ?? undefined, identity),
        ...(policyVersion === undefined ? {} : { policyVersion }),
        ...(body.policy_versions?.[index] && { policyVersions: body.policy_versions[index] })
      }))
    )
  })

  const promptLogprobs = Effect.fn("Patched.promptLogprobs")(function* ({ inputIds, topK }: PromptRequest) {
    const reply = yield* generate(inputIds, {
      prompt_logprobs: Math.max(1, topK),
      ...SamplingBody.vllm({ temperature: 0, maxTokens: 1 }),
      n: 1
    })
    const { prompt_logprobs: given } = yield* decodePrompted(server, reply.body)
    // `[position]`, or `[[position]]` with one list per sequence: only in the second is the first element a list of one
    // per prompt token.
    const positions = isNested(given, inputIds.length) ? given[0]! : given
    return yield* Positions.ofPrompt(server, inputIds, positions)
  })

  return {
    ...openAi,
    capabilities: { tokens: true, promptLogprobs: identity.promptLogprobs },
    tokens,
    promptLogprobs: (request) =>
      identity.promptLogprobs
        ? promptLogprobs(request)
        : unsupported(server, "prompt logprobs", "use vLLM's own server or atropos policy"),
    health: transport.isThere({ server, url: `${root}/health`, apiKey })
  } satisfies Backend
})

const isNested = (
  given: ReadonlyArray<Positions.Position> | ReadonlyArray<ReadonlyArray<Positions.Position>>,
  length: number
): given is ReadonlyArray<ReadonlyArray<Positions.Position>> =>
  given.length === 1 && Array.isArray(given[0]) && (length !== 1 || Array.isArray(given[0][0]) || given[0][0] === null)

const sampled = Effect.fnUntraced(function* (
  server: string,
  positions: ReadonlyArray<Positions.Position>,
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
    const pairs = Positions.pairsOf(position)
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
  return yield* Positions.complete(server, { tokens, logprobs })
})
