/**
 * Token-level endpoints in vLLM's format: `POST /generate` (as in the original's bundled server,
 * example_trainer/vllm_api_server.py; used by core's `vllm` back end), `POST /tokenize`, `POST /detokenize`.
 *
 * `/generate` takes `prompt` as text or as `{ "prompt_token_ids": [...] }` and returns `text`, `finish_reasons`,
 * `token_ids`, `policy_versions` (per token, if weights changed during sampling) and, on request, `logprobs` (their
 * distribution: `logprobs_mode`): per choice and position a list of `{ "<id>": logprob }`, the sampled token first.
 * `prompt_logprobs` are such lists too, most likely first, the prompt's own token last if not among them.
 */
import { Effect, Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import * as ChatMessages from "./ChatMessages.ts"
import * as ChatPrompt from "./ChatPrompt.ts"
import type * as Completions from "./Completions.ts"
import type { Alternatives, PromptLogprobs } from "../engine/Engine.ts"
import * as ApiError from "./OpenAiApiError.ts"
import * as Answers from "./OpenAiApiAnswers.ts"
import * as Parameters from "./OpenAiApiParameters.ts"
import * as RequestBody from "./RequestBody.ts"
import * as SamplingRequest from "./SamplingRequest.ts"
import * as ScoredPrompt from "./ScoredPrompt.ts"
import * as ServedPolicy from "./ServedPolicy.ts"

const read = Parameters.reader(Parameters.Generate, ["prompt"])
const toError = ApiError.fromEngine("prompt")
const defaultMaxTokens = 16

const validPrompts = 'prompt: a text or { "prompt_token_ids": [...] } is needed'

interface Prompt {
  /** Lazy: called once the engine has accepted the ids. */
  readonly text: () => string
  readonly tokens: ReadonlyArray<number>
}

const promptOf = (
  { encode, maxSequenceTokens, tokenizer }: ServedPolicy.ServedPolicy,
  prompt: unknown
): Effect.Effect<Prompt, ApiError.OpenAiApiError> => {
  if (typeof prompt === "string") {
    return Effect.mapBoth(encode(prompt), {
      onFailure: ApiError.fromPrompt("prompt"),
      onSuccess: (tokens) => ({ text: () => prompt, tokens })
    })
  }
  const ids =
    typeof prompt === "object" && prompt !== null && "prompt_token_ids" in prompt ? prompt.prompt_token_ids : prompt
  if (Array.isArray(ids) && ids.length > maxSequenceTokens) {
    const message = `prompt: ${ids.length} tokens exceed the max sequence length of ${maxSequenceTokens}`
    return Effect.fail(ApiError.invalid("prompt", message, "context_length_exceeded"))
  }
  return Parameters.isTokenIds(ids)
    ? Effect.succeed({ text: () => tokenizer.decode(ids), tokens: ids })
    : Effect.fail(ApiError.invalid("prompt", validPrompts))
}

type Entry = { readonly [id: string]: number }

const entries = ({ logprobs, tokens }: Alternatives, besides?: number): ReadonlyArray<Entry> =>
  tokens.flatMap((token, index) => (token === besides ? [] : [{ [token]: logprobs[index]! }]))

const positions = ({ alternatives, logprobs, tokens }: Completions.Completion): ReadonlyArray<ReadonlyArray<Entry>> =>
  tokens.map((token, index) => [
    { [token]: logprobs[index]! },
    ...(alternatives[index] === undefined ? [] : entries(alternatives[index], token))
  ])

const promptPositions = (tokens: ReadonlyArray<number>, scored: PromptLogprobs) =>
  ScoredPrompt.positions(tokens, scored).map((position, at) => (at === 0 ? null : entries(position)))

export const generate = (served: ServedPolicy.ServedPolicy) =>
  Effect.gen(function* () {
    const body = yield* RequestBody.parameters
    const parameters = yield* read(body)
    const { text, tokens } = yield* promptOf(served, body["prompt"])
    const request: Completions.Request = {
      ...SamplingRequest.toCompletions(yield* Parameters.sampling(parameters), served),
      promptTokens: tokens,
      maxTokens: yield* served.room(tokens.length, parameters.max_tokens ?? defaultMaxTokens),
      ...(parameters.logprobs !== undefined && { topLogprobs: parameters.logprobs })
    }
    const [all, scored] = yield* Effect.all(
      [
        served.completions.collect(request),
        parameters.prompt_logprobs === undefined
          ? Effect.void
          : served.engine.score({
              promptTokens: tokens,
              topLogprobs: parameters.prompt_logprobs,
              ...(request.temperature > 0 && { temperature: request.temperature }),
              ...(request.policy !== undefined && { policy: request.policy })
            })
      ],
      { concurrency: "unbounded" }
    ).pipe(Effect.mapError(toError))
    const version = Math.min(...all.map(({ policyVersion }) => policyVersion))
    return HttpServerResponse.jsonUnsafe(
      {
        text: all.map((completion) => completion.text),
        prompt: text(),
        prompt_token_ids: tokens,
        finish_reasons: all.map(({ finishReason }) => finishReason),
        token_ids: all.map((completion) => completion.tokens),
        logprobs: parameters.logprobs === undefined ? null : all.map(positions),
        ...(all.some(({ policyVersions }) => policyVersions !== undefined) && {
          policy_versions: all.map(
            ({ policyVersion, policyVersions, tokens }) => policyVersions ?? tokens.map(() => policyVersion)
          )
        }),
        ...(scored && { prompt_logprobs: promptPositions(tokens, scored) }),
        ...Answers.origin(version)
      },
      { headers: { "x-policy-version": String(version) } }
    )
  })

/** Max tokens of a text that is only tokenized: it may be a document rather than a prompt. */
const maxCounted = 32_768

const Tokenize = Schema.Struct({
  model: Schema.optionalKey(Schema.String),
  add_special_tokens: Schema.optionalKey(Schema.Boolean),
  add_generation_prompt: Schema.optionalKey(Schema.Boolean),
  return_token_strs: Schema.optionalKey(Schema.Boolean)
})
const readTokenize = Parameters.reader(Tokenize, ["prompt", "messages"])

export const tokenize = (served: ServedPolicy.ServedPolicy) =>
  Effect.gen(function* () {
    const { tokenizer } = served
    const body = yield* RequestBody.parameters
    const parameters = yield* readTokenize(body)
    const { messages, prompt } = body
    if ((prompt === undefined) === (messages === undefined) || (prompt !== undefined && typeof prompt !== "string")) {
      return yield* ApiError.invalid("prompt", "prompt: either a prompt (text) or messages are needed")
    }
    const text =
      typeof prompt === "string"
        ? prompt
        : yield* Effect.mapError(
            ChatPrompt.text(served, {
              messages: yield* ChatMessages.read(messages, served.maxSequenceTokens),
              tools: [],
              addGenerationPrompt: parameters.add_generation_prompt ?? true
            }),
            ApiError.fromPrompt("messages")
          )
    const tokens = yield* Effect.mapError(
      served.encode(text, parameters.add_special_tokens ?? true, Math.max(maxCounted, served.maxSequenceTokens)),
      ApiError.fromPrompt(typeof prompt === "string" ? "prompt" : "messages")
    )
    return HttpServerResponse.jsonUnsafe({
      count: tokens.length,
      max_model_len: served.maxSequenceTokens,
      tokens,
      token_strs: parameters.return_token_strs === true ? tokens.map((token) => tokenizer.decode([token])) : null
    })
  })

const readDetokenize = Parameters.reader(Schema.Struct({ model: Schema.optionalKey(Schema.String) }), ["tokens"])

/** The text of ids, special tokens included. */
export const detokenize = ({ maxSequenceTokens, tokenizer }: ServedPolicy.ServedPolicy) =>
  Effect.gen(function* () {
    const body = yield* RequestBody.parameters
    yield* readDetokenize(body)
    const { tokens } = body
    if (!Parameters.isTokenIds(tokens) || tokens.some((token) => token >= tokenizer.vocabularySize)) {
      return yield* ApiError.invalid(
        "tokens",
        `tokens: a list of token ids below ${tokenizer.vocabularySize} is needed`
      )
    }
    const max = Math.max(maxCounted, maxSequenceTokens)
    if (tokens.length > max) {
      return yield* ApiError.invalid(
        "tokens",
        `tokens: at most ${max}, got ${tokens.length}`,
        "context_length_exceeded"
      )
    }
    return HttpServerResponse.jsonUnsafe({ prompt: tokenizer.decode(tokens) })
  })
