/**
 * Token-level requests to stock vLLM, through the endpoint it has: `POST /inference/v1/generate` (0.12 on;
 * `--enable-scale-out` from 0.30 on), else `POST /v1/completions` with the prompt as ids, which returns ids as
 * `token_ids` (`return_token_ids`, 0.10.2 on) or as the names of tokens (`return_tokens_as_token_ids`, before).
 *
 * Started with `--return-sampling-mask`, the first of these also returns the tokens that top-k, top-p and min-p left to
 * choose from (`sampling_mask`).
 *
 * vLLM writes -9999 for a missing logprob: such an answer is rejected. The end-of-sequence token is part of the output.
 */
import { Effect, Schema } from "effect"
import { InferenceError, type PromptLogprobs, type PromptRequest, type TokenChoice } from "../wire/Inference.ts"
import * as Adapters from "./Adapters.ts"
import { type Backend, type IdsRequest, unsupported } from "./Backend.ts"
import * as Coverage from "./Coverage.ts"
import { rootOf } from "./Identify.ts"
import type { Identity } from "./Identity.ts"
import * as OpenAi from "./OpenAi.ts"
import * as EventStream from "../wire/EventStream.ts"
import * as TokenStream from "../wire/TokenStream.ts"
import * as Positions from "../wire/Positions.ts"
import { checkCount, checkWhole, complete as readCompletion, decode, nullable, withVersion } from "./Reply.ts"
import * as Sampling from "../../trajectory/Sampling.ts"
import * as SamplingBody from "./SamplingBody.ts"
import { malformed } from "../wire/Transport.ts"
import * as VllmLoad from "./VllmLoad.ts"
import * as WeightSpans from "./WeightSpans.ts"
import * as WeightVersions from "./WeightVersions.ts"

const Content = Schema.Struct({ content: nullable(Schema.Array(Schema.Struct({ logprob: Schema.Finite }))) })
const Generated = Schema.Struct({
  usage: nullable(Schema.Struct({ completion_tokens: nullable(Schema.Natural) })),
  choices: Schema.Array(
    Schema.Struct({
      index: Schema.Int,
      finish_reason: nullable(Schema.String),
      token_ids: nullable(Schema.Array(Schema.Natural)),
      logprobs: nullable(Content),
      sampling_mask: nullable(Schema.Array(Schema.Array(Schema.Natural))),
      weight_versions: nullable(WeightSpans.Spans)
    })
  )
})
const Prompted = Schema.Struct({
  choices: Schema.NonEmptyArray(Schema.Struct({ prompt_logprobs: Schema.Array(Positions.Position) }))
})
const decodeGenerated = decode(Generated)
const decodePrompted = decode(Prompted)

const completionsPath = "/completions"

/** Only complete choices: `output_kind` 2. Otherwise some versions return only the last ones to finish. */
const finalOnly = 2

export const make = Effect.fn("Vllm.make")(function* (options: OpenAi.Options) {
  const { identity, settings, transport } = options
  const { adapters: given = Adapters.makeNone() } = options
  const adapters = identity.versions === "weights" ? WeightVersions.make(settings, transport, given) : given
  const openAi = yield* OpenAi.make({ ...options, adapters })
  const { server } = openAi
  const root = rootOf(server)
  const apiKey = settings.apiKey ?? ""
  const named = identity.modelName === undefined ? {} : { model: identity.modelName }
  const post = (url: string, body: SamplingBody.Body, onTokens?: IdsRequest["onTokens"]) => {
    const { forward, isStreamed } = OpenAi.recorded(onTokens)
    return adapters.asking(
      Effect.fnUntraced(function* (adapter) {
        if (isStreamed()) return yield* OpenAi.changed(server)
        const asked = { ...named, ...(adapter !== undefined && OpenAi.asModel(adapter)), ...body }
        const reply = yield* onTokens === undefined
          ? transport.json({ method: "POST", server, url, apiKey, body: asked })
          : EventStream.post({ transport, server, apiKey }, completionsPath, asked, forward, TokenStream.make())
        return { reply, version: adapter?.policyVersion }
      }),
      ({ reply }) => WeightSpans.areVerified(reply.body)
    )
  }

  /** Without a limit, vLLM generates 16 tokens. */
  const limited = (request: IdsRequest): IdsRequest =>
    request.maxTokens !== undefined || identity.contextLength === undefined
      ? request
      : { ...request, maxTokens: Math.max(1, identity.contextLength - request.inputIds.length) }

  const inference = Effect.fnUntraced(function* (request: IdsRequest) {
    const { reply, version } = yield* post(`${root}/inference/v1/generate`, {
      token_ids: request.inputIds,
      sampling_params: { ...SamplingBody.vllm(limited(request)), logprobs: 0, output_kind: finalOnly }
    })
    const { choices, usage } = yield* decodeGenerated(server, reply.body)
    yield* checkCount(server, request.n ?? 1, choices.length)
    yield* checkWhole(server, choices)
    const ids = choices.reduce((sum, choice) => sum + (choice.token_ids?.length ?? 0), 0)
    if ((usage?.completion_tokens ?? 0) > ids) {
      return yield* malformed(server, `answer of ${server}: ${Coverage.fewerThanUsage(usage?.completion_tokens, ids)}`)
    }
    return yield* Effect.forEach(
      choices.toSorted((a, b) => a.index - b.index),
      (choice) => generated({ server, identity, request, version }, choice)
    )
  })

  const completions = Effect.fnUntraced(function* (request: IdsRequest) {
    const body = {
      prompt: request.inputIds,
      logprobs: 0,
      ...(identity.idsBy !== undefined && { [identity.idsBy]: true }),
      ...(identity.hasWeightSpans && { return_weight_versions: true }),
      ...SamplingBody.vllm(limited(request))
    }
    const onTokens = isStreamable(identity, request) ? request.onTokens : undefined
    const { reply, version } = yield* post(`${server}${completionsPath}`, body, onTokens)
    const answer = withVersion(version)(yield* readCompletion(server, request.n ?? 1, reply))
    const gap = Coverage.gap(answer, options.tokenizer)
    if (gap !== undefined) return yield* malformed(server, `answer of ${server}: ${gap}`)
    return yield* Effect.forEach(answer.choices, ({ sampled }) =>
      sampled === undefined
        ? Effect.fail(noIds(server))
        : Effect.succeed({ ...sampled, sampling: SamplingBody.recorded(request, undefined, identity) })
    )
  })

  const tokens = Effect.fn("Vllm.tokens")((request: IdsRequest) =>
    identity.tokens === "/inference/v1/generate" && !isStreamable(identity, request)
      ? inference(request)
      : completions(request)
  )

  const promptLogprobs = Effect.fn("Vllm.promptLogprobs")(function* ({ inputIds, topK }: PromptRequest) {
    const { reply } = yield* post(`${server}/completions`, {
      prompt: inputIds,
      prompt_logprobs: Math.max(1, topK),
      ...SamplingBody.vllm({ temperature: 0, maxTokens: 1 })
    })
    const { choices } = yield* decodePrompted(server, reply.body)
    return yield* Positions.ofPrompt(server, inputIds, choices[0].prompt_logprobs)
  })

  return {
    ...openAi,
    capabilities: { tokens: identity.tokens !== undefined, promptLogprobs: identity.promptLogprobs },
    tokens,
    promptLogprobs: (request): Effect.Effect<PromptLogprobs, InferenceError> =>
      identity.promptLogprobs
        ? promptLogprobs(request)
        : unsupported(server, "prompt logprobs", "use vLLM's own server or atropos policy"),
    health: transport.isThere({ server, url: `${root}/health`, apiKey }),
    load: VllmLoad.read({ server, apiKey }, transport)
  } satisfies Backend
})

interface Asked {
  readonly server: string
  readonly identity: Identity
  readonly request: IdsRequest
  readonly version: number | undefined
}

const generated = Effect.fnUntraced(function* (
  { identity, request, server, version }: Asked,
  choice: (typeof Generated.Type)["choices"][number]
) {
  const { finish_reason: finish, logprobs, sampling_mask: kept, token_ids: tokens, weight_versions: spans } = choice
  const values = logprobs?.content?.map(({ logprob }) => logprob)
  if (!tokens || !values || tokens.length !== values.length) {
    const problem = `${tokens?.length ?? "no"} token ids but ${values?.length ?? "no"} logprobs`
    return yield* malformed(server, `answer of ${server}: ${problem}`)
  }
  if (kept && !isMaskOf(kept, tokens)) {
    return yield* malformed(server, `answer of ${server}: sampling_mask lacks sampled tokens`)
  }
  const hasSpans = identity.hasWeightSpans === true && spans
  return yield* Positions.complete<TokenChoice>(server, {
    tokens,
    logprobs: values,
    finishReason: finish ?? "unknown",
    ...(version !== undefined && { policyVersion: version }),
    ...(hasSpans && (yield* WeightSpans.ofTokens(server, spans, tokens.length))),
    ...(kept && isTruncated(request) && { keptTokens: kept }),
    sampling: SamplingBody.recorded(request, undefined, identity)
  })
})

/** True if a mask has the tokens that were kept at each position, among them the sampled one. */
const isMaskOf = (kept: ReadonlyArray<ReadonlyArray<number>>, tokens: ReadonlyArray<number>): boolean =>
  kept.length === tokens.length && kept.every((ids, at) => ids.includes(tokens[at]!))

/** Without truncation a mask has the whole vocabulary. */
const isTruncated = (request: IdsRequest): boolean => {
  const { minP, topK, topP } = Sampling.ofRequest(request, "processed")
  return topP < 1 || topK > 0 || minP > 0
}

/** Text completions stream their ids; what was left to choose from, and the weights of each token, come at the end. */
const isStreamable = ({ hasWeightSpans, idsBy }: Identity, request: IdsRequest): boolean =>
  request.onTokens !== undefined &&
  (request.n ?? 1) === 1 &&
  idsBy === "return_token_ids" &&
  hasWeightSpans !== true &&
  !isTruncated(request)

const noIds = (server: string): InferenceError =>
  new InferenceError({
    reason: "unsupported",
    server,
    message: `${server} answered /v1/completions without the requested token ids and logprobs`
  })
