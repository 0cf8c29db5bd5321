/**
 * Handles `POST /v1/completions`: continuations of texts or token ids, one prompt or several.
 *
 * Choice `i` of prompt `p` has index `p·n + i`. With `echo` each text starts with the prompt, including its logprobs if
 * requested; `max_tokens: 0` then returns only the prompt.
 */
import { Clock, Effect, type Scope, Stream } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { randomUUID } from "node:crypto"
import { checkStreamOptions } from "./ChatCompletions.ts"
import type * as Completions from "./Completions.ts"
import type { Shape as Engine } from "../engine/Engine.ts"
import * as EventStream from "./EventStream.ts"
import * as Answers from "./OpenAiApiAnswers.ts"
import * as ApiError from "./OpenAiApiError.ts"
import * as Parameters from "./OpenAiApiParameters.ts"
import * as RequestBody from "./RequestBody.ts"
import * as SamplingRequest from "./SamplingRequest.ts"
import type * as ServedPolicy from "./ServedPolicy.ts"

const read = Parameters.reader(Parameters.Text, ["prompt"])
const toError = ApiError.fromEngine("prompt")
const maxPrompts = 256
const defaultMaxTokens = 16

interface Prompt {
  /** Lazy: ids are only decoded if needed. */
  readonly text: () => string
  readonly tokens: ReadonlyArray<number>
}

const validPrompts = "prompt: a text, a list of texts, a list of token ids, or a list of lists of token ids is needed"

const promptsOf = Effect.fnUntraced(function* (
  { encode, tokenizer }: ServedPolicy.ServedPolicy,
  prompt: unknown,
  addSpecialTokens: boolean
) {
  const ofText = (text: string): Effect.Effect<Prompt, ApiError.OpenAiApiError> =>
    Effect.mapBoth(encode(text, addSpecialTokens), {
      onFailure: ApiError.fromPrompt("prompt"),
      onSuccess: (tokens) => ({ text: () => text, tokens })
    })
  const ofTokens = (tokens: ReadonlyArray<number>): Prompt => ({ text: () => tokenizer.decode(tokens), tokens })
  if (typeof prompt === "string") return [yield* ofText(prompt)]
  if (!Array.isArray(prompt) || prompt.length === 0) return yield* ApiError.invalid("prompt", validPrompts)
  if (Parameters.isTokenIds(prompt)) return [ofTokens(prompt)]
  const several: ReadonlyArray<unknown> = prompt
  if (several.length > maxPrompts) {
    const got = several.length
    return yield* ApiError.invalid("prompt", `prompt: at most ${maxPrompts} prompts in one request, got ${got}`)
  }
  return yield* Effect.forEach(several, (one) => {
    if (typeof one === "string") return ofText(one)
    return Parameters.isTokenIds(one)
      ? Effect.succeed(ofTokens(one))
      : Effect.fail(ApiError.invalid("prompt", validPrompts))
  })
})

/** A piece of one of the prompts' completions; `index` counts over all prompts. */
interface PromptDelta extends Completions.Delta {
  readonly prompt: number
}

/** Text before a completion: the prompt with `echo`. */
interface Opening {
  readonly text: string
  readonly logprobs: Answers.TextLogprobs | undefined
  /** Version of the weights that scored the prompt, if it was scored. */
  readonly policyVersion?: number
}

interface Call {
  readonly prompts: ReadonlyArray<Prompt>
  readonly requests: ReadonlyArray<Completions.Request>
  readonly n: number
  /** Number of alternatives with each logprob; undefined: no logprobs. */
  readonly top: number | undefined
  readonly isEchoed: boolean
  /** 0: only the prompt. */
  readonly maxTokens: number
  readonly isStreamed: boolean
  readonly includeUsage: boolean
  readonly telling: Answers.Telling
  readonly model: string
}

const callOf = Effect.fnUntraced(function* (served: ServedPolicy.ServedPolicy) {
  const body = yield* RequestBody.parameters
  const parameters = yield* read(body)
  yield* checkStreamOptions(parameters)
  const prompts = yield* promptsOf(served, body["prompt"], parameters.add_special_tokens ?? true)
  const isEchoed = parameters.echo ?? false
  const isStreamed = parameters.stream === true
  const maxTokens = parameters.max_tokens ?? defaultMaxTokens
  if (maxTokens === 0 && (!isEchoed || isStreamed)) {
    return yield* ApiError.invalid("max_tokens", "max_tokens: at least 1 (0 only with echo, not streamed)")
  }
  const sampling = SamplingRequest.toCompletions(yield* Parameters.sampling(parameters), served)
  const top = parameters.logprobs
  const requests = yield* Effect.forEach(prompts, ({ tokens }) =>
    Effect.map(served.room(tokens.length, maxTokens), (maxTokens): Completions.Request => ({
      ...sampling,
      promptTokens: tokens,
      maxTokens,
      ...(top !== undefined && { topLogprobs: top })
    }))
  )
  return {
    prompts,
    requests,
    n: sampling.n,
    top,
    isEchoed,
    maxTokens,
    isStreamed,
    includeUsage: parameters.stream_options?.include_usage ?? false,
    telling: {
      tokenizer: served.tokenizer,
      returnTokenIds: parameters.return_token_ids ?? false,
      tokensAsIds: parameters.return_tokens_as_token_ids ?? false
    },
    model: parameters.model ?? served.modelName
  } satisfies Call
})

const openingOf = Effect.fnUntraced(function* (engine: Engine, call: Call, at: number) {
  const { isEchoed, maxTokens, telling, top } = call
  const prompt = call.prompts[at]!
  if (!isEchoed) return silence
  if (top === undefined && maxTokens > 0) return { ...silence, text: prompt.text() }
  const { policy, temperature } = call.requests[at]!
  const scored = yield* engine.score({
    promptTokens: prompt.tokens,
    ...(temperature > 0 && { temperature }),
    ...(top !== undefined && { topLogprobs: top }),
    ...(policy !== undefined && { policy })
  })
  const logprobs = top === undefined ? undefined : Answers.echoLogprobs(prompt.tokens, scored, top, telling)
  return { text: prompt.text(), logprobs, policyVersion: scored.policyVersion } satisfies Opening
})

const logprobsOf = (
  { telling, top }: Call,
  part: Omit<Completions.Delta, "index">,
  opening: Opening,
  offset: number
) => {
  if (top === undefined) return null
  const own = Answers.textLogprobs(part, top, offset, telling)
  return opening.logprobs === undefined ? own : Answers.concatLogprobs(opening.logprobs, own)
}

const promptIds = ({ telling }: Call, { tokens }: Prompt) =>
  telling.returnTokenIds ? { prompt_token_ids: tokens } : {}

const promptTokensOf = ({ prompts }: Call): number => prompts.reduce((sum, { tokens }) => sum + tokens.length, 0)

const envelopeOf = Effect.fnUntraced(function* ({ model }: Call) {
  const created = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  return { id: `cmpl-${randomUUID()}`, object: "text_completion", created, model }
})

const whole = Effect.fnUntraced(function* ({ completions, engine }: ServedPolicy.ServedPolicy, call: Call) {
  const { maxTokens, n, requests, telling } = call
  const envelope = yield* envelopeOf(call)
  const choices = yield* Effect.forEach(
    call.prompts,
    Effect.fnUntraced(function* (prompt, at) {
      const opening = yield* openingOf(engine, call, at)
      const all =
        maxTokens === 0
          ? Array.from({ length: n }, () => nothing(opening.policyVersion ?? 0))
          : yield* completions.collect(requests[at]!)
      return all.map((completion, index) => ({
        completion,
        choice: {
          ...Answers.textChoice(
            at * n + index,
            { ...completion, text: opening.text + completion.text },
            logprobsOf(call, completion, opening, opening.text.length),
            telling
          ),
          ...promptIds(call, prompt)
        }
      }))
    }),
    { concurrency: "unbounded" }
  ).pipe(
    Effect.map((lists) => lists.flat()),
    Effect.mapError(toError)
  )
  const version = Math.min(...choices.map(({ completion }) => completion.policyVersion))
  const completionTokens = choices.reduce((sum, { completion }) => sum + completion.tokens.length, 0)
  // The choices of a prompt share one prefill.
  const cachedTokens = choices.reduce(
    (sum, { completion }, at) => sum + (at % n === 0 ? completion.cachedTokens : 0),
    0
  )
  return HttpServerResponse.jsonUnsafe(
    {
      ...envelope,
      choices: choices.map(({ choice }) => choice),
      usage: Answers.usage(promptTokensOf(call), completionTokens, cachedTokens),
      ...Answers.origin(version)
    },
    { headers: { "x-policy-version": String(version) } }
  )
})

const streamed = Effect.fnUntraced(function* ({ completions, engine }: ServedPolicy.ServedPolicy, call: Call) {
  const { includeUsage, n, prompts, requests, telling } = call
  const envelope = yield* envelopeOf(call)
  const chunk = (choices: ReadonlyArray<unknown>, usage: unknown = null): string =>
    Answers.event({ ...envelope, choices, ...(includeUsage && { usage }) })
  const offsets = new Map<number, number>()
  let completionTokens = 0
  const cached = new Map<number, number>()
  const openings = yield* Effect.forEach(prompts, (_, at) => openingOf(engine, call, at), {
    concurrency: "unbounded"
  }).pipe(Effect.mapError(toError))
  return yield* EventStream.respond<PromptDelta>({
    pieces: Stream.mergeAll(
      requests.map((request, prompt) =>
        Stream.map(completions.stream(request), (piece) => ({ ...piece, prompt, index: prompt * n + piece.index }))
      ),
      { concurrency: "unbounded" }
    ),
    toEvents: (piece) => {
      const { index, prompt, tokens } = piece
      completionTokens += tokens.length
      cached.set(prompt, piece.cachedTokens)
      const isFirst = !offsets.has(index)
      const opening = isFirst ? openings[prompt]! : silence
      const offset = offsets.get(index) ?? opening.text.length
      const logprobs = logprobsOf(call, piece, opening, offset)
      offsets.set(index, offset + piece.text.length)
      const choice = Answers.textChoice(index, { ...piece, text: opening.text + piece.text }, logprobs, telling)
      return Effect.succeed(chunk([{ ...choice, ...(isFirst && promptIds(call, prompts[prompt]!)) }]))
    },
    toError,
    last: () => {
      const cachedTokens = cached.values().reduce((sum, tokens) => sum + tokens, 0)
      return includeUsage ? chunk([], Answers.usage(promptTokensOf(call), completionTokens, cachedTokens)) : ""
    }
  })
})

export const handle = (
  served: ServedPolicy.ServedPolicy
): Effect.Effect<
  HttpServerResponse.HttpServerResponse,
  ApiError.OpenAiApiError,
  HttpServerRequest.HttpServerRequest | Scope.Scope
> =>
  Effect.gen(function* () {
    const call = yield* callOf(served)
    return yield* call.isStreamed ? streamed(served, call) : whole(served, call)
  })

const silence: Opening = { text: "", logprobs: undefined }

/** The empty completion of `max_tokens: 0`. */
const nothing = (policyVersion: number): Completions.Completion => ({
  text: "",
  tokens: [],
  logprobs: [],
  alternatives: [],
  policyVersion,
  cachedTokens: 0,
  finishReason: "length"
})
