/**
 * The server of TRL's `trl vllm-serve`: prompts as text to `POST /generate/`, completions back as token ids.
 *
 * Chats are put through the tokenizer's template here and the ids are turned into text here, so a `Tokenizer` is needed. Special
 * tokens stay in the text (tool tags may be some), the end-of-sequence token at its end does not. Newer versions add prompt ids
 * and logprobs, which are kept; a token-level endpoint there is not.
 */
import { Effect, Schema } from "effect"
import { type ChatRequest, InferenceError, type SamplingOptions, type TextRequest } from "../Inference.ts"
import * as Message from "../Message.ts"
import * as Sampling from "../Sampling.ts"
import type { TokenizerShape } from "../Tokenizer.ts"
import { type Answer, type AnswerChoice, type Backend, unsupported } from "./Backend.ts"
import type { Options } from "./OpenAi.ts"
import { checkCount, decode, headerPolicyVersion, nullable } from "./Reply.ts"
import { malformed } from "./Transport.ts"

const Ids = Schema.Array(Schema.Natural)
const Generated = Schema.Struct({
  completion_ids: Schema.Array(Ids),
  prompt_ids: nullable(Schema.Array(Ids)),
  logprobs: nullable(Schema.Array(Schema.Array(Schema.Finite)))
})
const decodeGenerated = decode(Generated)

export const make = ({ settings, transport }: Options, tokenizer: TokenizerShape | undefined): Backend => {
  const server = settings.baseUrl ?? ""
  const apiKey = settings.apiKey ?? ""

  const generate = Effect.fn("Trl.generate")(function* (
    tokenizer: TokenizerShape,
    prompt: string,
    options: SamplingOptions
  ) {
    const reply = yield* transport.json({
      method: "POST",
      server,
      url: `${server}/generate/`,
      apiKey,
      body: {
        prompts: [prompt],
        n: options.n ?? 1,
        repetition_penalty: 1,
        temperature: options.temperature ?? 1,
        top_p: options.topP ?? 1,
        top_k: options.topK || -1,
        min_p: options.minP ?? 0,
        max_tokens: options.maxTokens ?? 1024,
        ...options.extra
      }
    })
    const body = yield* decodeGenerated(server, reply.body)
    yield* checkCount(server, options.n ?? 1, body.completion_ids.length)
    const policyVersion = headerPolicyVersion(reply)
    const sampling = Sampling.ofRequest(options, "raw")
    const choices = yield* Effect.forEach(body.completion_ids, (ids, index) => {
      const logprobs = body.logprobs?.[index]
      return logprobs !== undefined && logprobs.length !== ids.length
        ? Effect.fail(malformed(server, `answer of ${server}: ${ids.length} token ids but ${logprobs.length} logprobs`))
        : Effect.succeed(toChoice(tokenizer, ids, logprobs, policyVersion, sampling))
    })
    const promptTokens = body.prompt_ids?.[0]
    return {
      choices,
      ...(promptTokens === undefined ? {} : { promptTokens }),
      usage: {
        promptTokens: promptTokens?.length ?? 0,
        completionTokens: body.completion_ids.reduce((sum, ids) => sum + ids.length, 0)
      }
    } satisfies Answer
  })

  const withTokenizer = <A>(use: (tokenizer: TokenizerShape) => Effect.Effect<A, InferenceError>) =>
    tokenizer === undefined
      ? unsupported(
          server,
          "text without a tokenizer",
          "provide a Tokenizer layer (tokenizer_name) for server_type trl"
        )
      : use(tokenizer)

  const instead = "use server_type vllm or sglang"
  return {
    server,
    modelName: settings.modelName,
    capabilities: { tokens: false, promptLogprobs: false },
    chat: (request: ChatRequest) =>
      withTokenizer((tokenizer) =>
        Effect.suspend(() =>
          generate(
            tokenizer,
            tokenizer.applyChatTemplate(request.messages, {
              addGenerationPrompt: true,
              ...(request.tools === undefined ? {} : { tools: request.tools })
            }),
            request
          )
        )
      ),
    complete: (request: TextRequest) => withTokenizer((tokenizer) => generate(tokenizer, request.prompt, request)),
    tokens: () => unsupported(server, "token-level completions", instead),
    promptLogprobs: () => unsupported(server, "prompt logprobs", instead),
    health: transport.isThere({ server, url: `${server}/health/`, apiKey })
  }
}

const toChoice = (
  tokenizer: TokenizerShape,
  ids: ReadonlyArray<number>,
  logprobs: ReadonlyArray<number> | undefined,
  policyVersion: number | undefined,
  sampling: Sampling.Sampling
): AnswerChoice => {
  const isEnded = tokenizer.eosTokenId !== undefined && ids.includes(tokenizer.eosTokenId)
  const spoken = isEnded && ids.at(-1) === tokenizer.eosTokenId ? ids.slice(0, -1) : ids
  const text = tokenizer.decode(spoken, { skipSpecialTokens: false })
  const finish = {
    finishReason: isEnded ? "stop" : "length",
    sampling,
    ...(policyVersion === undefined ? {} : { policyVersion })
  }
  return {
    message: Message.assistant(text),
    text,
    toolCalls: [],
    ...finish,
    ...(logprobs === undefined ? {} : { sampled: { tokens: ids, logprobs, ...finish } })
  }
}
