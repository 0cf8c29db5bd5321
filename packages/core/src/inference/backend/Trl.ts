/**
 * The server of `trl vllm-serve` up to TRL 1.12: prompts to `POST /generate/`, completions as token ids. From 1.13 on
 * that command starts vLLM's own server; `Identify` distinguishes them.
 *
 * Fields were added over time: prompt ids and logprobs in answers, `generation_kwargs` (for stop strings and seeds),
 * prompts as ids. Its `/openapi.json` lists those of a version. If prompts are sent as text, chats are rendered and ids
 * decoded locally, so a `Tokenizer` is required. Special tokens stay in the text (tool tags may be some), except the
 * end-of-sequence token at its end.
 */
import { Effect, Schema, Struct } from "effect"
import {
  type ChatRequest,
  InferenceError,
  type SamplingOptions,
  type TextRequest,
  type TokenChoice
} from "../wire/Inference.ts"
import * as Message from "../../trajectory/Message.ts"
import type { TokenizerShape } from "../tokenizer/Tokenizer.ts"
import { type Answer, type AnswerChoice, type Backend, type IdsRequest, unsupported } from "./Backend.ts"
import { rootOf } from "./Identify.ts"
import type { Options } from "./OpenAi.ts"
import * as Positions from "../wire/Positions.ts"
import { checkCount, decode, headerPolicyVersion, nullable } from "./Reply.ts"
import * as SamplingBody from "./SamplingBody.ts"
import { malformed } from "../wire/Transport.ts"

const Ids = Schema.Array(Schema.Natural)
const Generated = Schema.Struct({
  completion_ids: Schema.Array(Ids),
  prompt_ids: nullable(Schema.Array(Ids)),
  // The sampled token's, or a list of one per position (of several if more are requested).
  logprobs: nullable(
    Schema.Array(Schema.Array(Schema.Union([Schema.Finite, Schema.NonEmptyArray(Schema.NullOr(Schema.Finite))])))
  )
})
const decodeGenerated = decode(Generated)

export const make = ({ identity, settings, transport }: Options, tokenizer: TokenizerShape | undefined): Backend => {
  const server = settings.baseUrl ?? ""
  const root = rootOf(server)
  const apiKey = settings.apiKey ?? ""

  const bodyOf = (prompt: string | ReadonlyArray<number>, options: SamplingOptions) => {
    const { max_tokens: limit, n, seed, stop, ...rest } = SamplingBody.vllm({ ...options, extra: {} })
    const sampling = Struct.omit(rest, ["frequency_penalty", "presence_penalty"])
    const more = { ...(stop === undefined ? {} : { stop }), ...(seed === undefined ? {} : { seed }) }
    const [refused = SamplingBody.beyondRepetition(options)] = identity.fields.has("generation_kwargs")
      ? []
      : Object.keys(more)
    if (refused !== undefined) return SamplingBody.refuse(server, identity, refused)
    return Effect.succeed({
      prompts: [prompt],
      n: n ?? 1,
      ...sampling,
      max_tokens: limit ?? 1024,
      ...(Object.keys(more).length > 0 && { generation_kwargs: more }),
      ...options.extra
    })
  }

  const generate = Effect.fn("Trl.generate")(function* (
    prompt: string | ReadonlyArray<number>,
    options: SamplingOptions
  ) {
    const body = yield* bodyOf(prompt, options)
    const reply = yield* transport.json({ method: "POST", server, url: `${root}/generate/`, apiKey, body })
    const generated = yield* decodeGenerated(server, reply.body)
    yield* checkCount(server, options.n ?? 1, generated.completion_ids.length)
    const policyVersion = headerPolicyVersion(reply)
    const finish = {
      sampling: SamplingBody.recorded(options, undefined, identity),
      ...(policyVersion === undefined ? {} : { policyVersion })
    }
    const choices = yield* Effect.forEach(generated.completion_ids, (tokens, index) =>
      Effect.map(logprobsOf(server, tokens, generated.logprobs?.[index]), (logprobs) => ({
        tokens,
        logprobs,
        finishReason: tokenizer?.eosTokenId !== undefined && tokens.includes(tokenizer.eosTokenId) ? "stop" : "length",
        ...finish
      }))
    )
    return { choices, promptTokens: generated.prompt_ids?.[0] }
  })

  const answer = Effect.fnUntraced(function* (tokenizer: TokenizerShape, prompt: string, options: SamplingOptions) {
    const { choices, promptTokens } = yield* generate(prompt, options)
    return {
      choices: choices.map((choice) => toChoice(tokenizer, choice)),
      ...(promptTokens === undefined ? {} : { promptTokens }),
      usage: {
        promptTokens: promptTokens?.length ?? 0,
        completionTokens: choices.reduce((sum, { tokens }) => sum + tokens.length, 0)
      }
    } satisfies Answer
  })

  const tokens = Effect.fn("Trl.tokens")(function* (request: IdsRequest) {
    const { choices } = yield* generate(request.inputIds, request)
    return yield* Effect.forEach(choices, ({ logprobs, ...choice }) =>
      logprobs === undefined
        ? Effect.fail(malformed(server, `answer of ${server}: no logprobs`))
        : Effect.succeed<TokenChoice>({ ...choice, logprobs })
    )
  })

  const withTokenizer = <A>(use: (tokenizer: TokenizerShape) => Effect.Effect<A, InferenceError>) =>
    tokenizer === undefined
      ? unsupported(
          server,
          "text without a tokenizer",
          "provide a Tokenizer layer (tokenizer_name) for server_type trl"
        )
      : use(tokenizer)

  const instead = "start a newer trl vllm-serve, vLLM or SGLang"
  const hasTokens = identity.tokens !== undefined && identity.logprobs !== undefined
  return {
    server,
    modelName: settings.modelName,
    capabilities: { tokens: hasTokens, promptLogprobs: false },
    chat: (request: ChatRequest) =>
      withTokenizer((tokenizer) =>
        Effect.suspend(() =>
          answer(
            tokenizer,
            tokenizer.applyChatTemplate(request.messages, {
              addGenerationPrompt: true,
              ...(request.tools === undefined ? {} : { tools: request.tools })
            }),
            request
          )
        )
      ),
    complete: (request: TextRequest) => withTokenizer((tokenizer) => answer(tokenizer, request.prompt, request)),
    tokens: (request) => (hasTokens ? tokens(request) : unsupported(server, "token-level completions", instead)),
    promptLogprobs: () => unsupported(server, "prompt logprobs", instead),
    health: transport.isThere({ server, url: `${root}/health/`, apiKey })
  }
}

type Sampled = Omit<TokenChoice, "logprobs"> & { readonly logprobs: ReadonlyArray<number> | undefined }

/** One logprob per token; undefined if none at all. */
const logprobsOf = (
  server: string,
  ids: ReadonlyArray<number>,
  given: ReadonlyArray<number | ReadonlyArray<number | null>> | undefined
): Effect.Effect<ReadonlyArray<number> | undefined, InferenceError> => {
  if (given === undefined) return Effect.undefined
  const logprobs = given
    .flatMap((one) => (typeof one === "number" ? [one] : one.slice(0, 1)))
    .filter((one) => one !== null)
  return logprobs.length === ids.length
    ? Effect.as(Positions.check(server, { tokens: ids, logprobs }), logprobs)
    : Effect.fail(malformed(server, `answer of ${server}: ${ids.length} token ids but ${logprobs.length} logprobs`))
}

const toChoice = (tokenizer: TokenizerShape, { logprobs, tokens: ids, ...finish }: Sampled): AnswerChoice => {
  const isEnded = ids.length > 0 && ids.at(-1) === tokenizer.eosTokenId
  const text = tokenizer.decode(isEnded ? ids.slice(0, -1) : ids, { skipSpecialTokens: false })
  return {
    message: Message.assistant(text),
    text,
    toolCalls: [],
    ...finish,
    ...(logprobs === undefined ? {} : { sampled: { tokens: ids, logprobs, ...finish } })
  }
}
