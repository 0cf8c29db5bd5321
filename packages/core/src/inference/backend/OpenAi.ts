/**
 * Requests chat and text completions of an OpenAI-compatible server through the `openai` package.
 *
 * The package's own retries and timeout are off; `ServerManager` handles both. If a server can add ids and logprobs to
 * its answers (`Identity.idsBy`), they are requested for answers that are trained on (see `Reply`). The health check
 * lists models and never generates; a 500 there only concerns that list (`transformers serve` needs the network for
 * it), so only a gateway's error means that the server is unavailable.
 */
import { Clock, Effect } from "effect"
import * as Docs from "../../base/Docs.ts"
import * as ExactJson from "../../base/json/ExactJson.ts"
import * as KeyOrder from "../../base/json/KeyOrder.ts"
import * as Reason from "../../base/Reason.ts"
import * as EventStream from "../wire/EventStream.ts"
import { type ChatRequest, InferenceError, type DeltaHandler, type Delta, type TextRequest } from "../wire/Inference.ts"
import * as Reasoning from "./Reasoning.ts"
import type { Server } from "./ServerSettings.ts"
import * as Adapters from "./Adapters.ts"
import * as AnswerBody from "../wire/AnswerBody.ts"
import { type Answer, type Backend, type Exact, unsupported } from "./Backend.ts"
import * as Coverage from "./Coverage.ts"
import type { Identity } from "./Identity.ts"
import * as Reply from "./Reply.ts"
import * as SamplingBody from "./SamplingBody.ts"
import type { TokenizerShape } from "../tokenizer/Tokenizer.ts"
import * as WeightSpans from "./WeightSpans.ts"
import { type JsonReply, malformed, statusError, type Transport, unacceptable } from "../wire/Transport.ts"

export interface Options {
  readonly settings: Server
  readonly reasoning: Reasoning.Reasoning
  readonly transport: Transport
  readonly identity: Identity
  /** Default: none, the base model is used. */
  readonly adapters?: Adapters.Adapters
  /** The model's tokenizer, to compare token ids with text. */
  readonly tokenizer?: TokenizerShape | undefined
}

export type Naming = (adapter: Adapters.Adapter) => { readonly [key: string]: string }

/** OpenAI has no parameter for adapters: servers accept their names as models. */
export const asModel: Naming = ({ name }): ReturnType<Naming> => (name === undefined ? {} : { model: name })

/** Wraps a handler to record if it was called. */
export const recorded = <D>(onDelta: DeltaHandler<D> = () => undefined) => {
  let isStreamed = false
  const forward = (delta: D): void => {
    isStreamed = true
    onDelta(delta)
  }
  return { forward, isStreamed: () => isStreamed }
}

export const changed = (server: string) =>
  Effect.fail(
    new InferenceError({
      reason: "failed",
      server,
      message: `the weights of ${server} changed while it answered, and a part of the answer was already streamed`
    })
  )

/** Node's max timer, about 24 days: the package requires a limit, ours applies first. */
const noLimit = 2 ** 31 - 1

export const make = Effect.fn("OpenAi.make")(function* (
  { adapters = Adapters.makeNone(), identity, reasoning, settings, tokenizer, transport }: Options,
  naming: Naming = asModel
) {
  const { default: OpenAI } = yield* Effect.promise(() => import("#openai"))
  const { apiKey } = settings
  const { modelName } = identity
  const server = settings.baseUrl ?? ""
  const client = new OpenAI({
    // An empty key would make the package look for one in the environment.
    apiKey: apiKey || "none",
    baseURL: server,
    maxRetries: 0,
    timeout: noLimit,
    fetch: transport.fetch,
    logLevel: "off",
    ...(apiKey ? {} : { defaultHeaders: { authorization: null } })
  })

  const failure = (path: string, cause: unknown, now: number): InferenceError => {
    const url = `${server}${path}`
    if (cause instanceof OpenAI.APIError && cause.status !== undefined) {
      const body = cause.error === undefined ? cause.message : JSON.stringify(cause.error)
      return statusError({
        server,
        url,
        status: cause.status,
        body,
        location: cause.headers?.get("location"),
        retryAfter: cause.headers?.get("retry-after"),
        now
      })
    }
    // The package wraps errors of its fetch.
    const inner = cause instanceof Error ? (cause.cause ?? cause) : cause
    if (inner instanceof AnswerBody.Unacceptable) return unacceptable(server, { method: "POST", url }, inner)
    if (cause instanceof SyntaxError) {
      return malformed(server, `POST ${url}: the answer is not JSON: ${cause.message}`)
    }
    const problem = cause instanceof Error ? Reason.root(cause) : String(cause)
    return new InferenceError({ reason: "unreachable", server, message: `POST ${url}: ${problem}`, cause })
  }

  const post = (path: string, body: { readonly [key: string]: unknown }): Effect.Effect<JsonReply, InferenceError> =>
    Clock.clockWith((clock) =>
      Effect.tryPromise({
        try: (signal) => client.post<unknown>(path, { ...asSent(body), signal }).withResponse(),
        catch: (cause) => failure(path, cause, clock.currentTimeMillisUnsafe())
      })
    ).pipe(Effect.map(({ data, response }) => ({ body: data, headers: Object.fromEntries(response.headers) })))

  const covered = Coverage.keep(server, tokenizer)

  /** Sends with the newest adapter, whose version is used for answers that do not state one. */
  const answer = (
    path: string,
    request: ChatRequest | TextRequest,
    body: { readonly [key: string]: unknown },
    read: (reply: JsonReply) => Effect.Effect<Answer, InferenceError>,
    onDelta?: DeltaHandler<Delta>
  ) => {
    const { forward, isStreamed } = recorded(onDelta)
    const ask = Effect.fnUntraced(function* (adapter: Adapters.Adapter | undefined) {
      // Streamed text cannot be taken back.
      if (isStreamed()) return yield* changed(server)
      const named = adapter === undefined ? body : { ...body, ...naming(adapter) }
      const reply = yield* onDelta === undefined
        ? post(path, named)
        : EventStream.post({ transport, server, apiKey: apiKey ?? "" }, path, named, forward, EventStream.make())
      const sampling = SamplingBody.recorded(request, Reply.logprobsMode(reply), identity)
      const answer = yield* covered(Reply.withSampling(sampling)(yield* read(reply)))
      return {
        answer: Reply.withVersion(adapter?.policyVersion)(answer),
        isVerified: WeightSpans.areVerified(reply.body)
      }
    })
    return Effect.map(adapters.asking(ask, isVerified), ({ answer }) => answer)
  }

  const named = modelName === undefined ? {} : { model: modelName }

  const chat = Effect.fn("OpenAi.chat")(function* (request: ChatRequest & Exact) {
    if (identity.kind === "transformers" && request.toolChoice !== undefined && request.toolChoice !== "auto") {
      return yield* SamplingBody.refuse(server, identity, "tool_choice")
    }
    const body = {
      ...named,
      messages: request.messages,
      ...(request.tools === undefined ? {} : { tools: request.tools }),
      ...choosing(request, identity),
      ...exactly(request, identity, true),
      ...(yield* SamplingBody.text(server, identity, request))
    }
    const sent = request.skipReasoning ? body : Reasoning.inject(body, reasoning, server)
    const { n = 1, onDelta } = request
    const read = (reply: JsonReply) => Reply.chat(server, n, reply)
    return yield* answer("/chat/completions", request, sent, read, n === 1 ? onDelta : undefined)
  })

  const complete = Effect.fn("OpenAi.complete")(function* (request: TextRequest & Exact) {
    const sampling = yield* SamplingBody.text(server, identity, request)
    const body = { ...named, prompt: request.prompt, ...exactly(request, identity, 0), ...sampling }
    return yield* answer("/completions", request, body, (reply) => Reply.complete(server, request.n ?? 1, reply))
  })

  return {
    server,
    modelName: settings.modelName,
    capabilities: { tokens: false, promptLogprobs: false },
    chat,
    complete,
    tokens: () => unsupported(server, "token-level completions", instead),
    promptLogprobs: () => unsupported(server, "prompt logprobs", "use vLLM's own server or atropos policy"),
    health: transport.isThere({ server, url: `${server}/models`, apiKey: apiKey ?? "" }, isFromGateway)
  } satisfies Backend
})

/** Serialized here if the package would reorder keys of the tools. */
const asSent = (body: { readonly [key: string]: unknown }) =>
  KeyOrder.isMoved(body["tools"])
    ? { body: ExactJson.write(body), headers: { "content-type": "application/json" } }
    : { body }

const instead = `use vLLM, SGLang or atropos policy (${Docs.path("training.md")} has a command for each)`

/** Requests ids and logprobs with the text, for answers that are trained on, and the weights of each token. */
const exactly = ({ exact }: Exact, { hasWeightSpans, idsBy }: Identity, logprobs: unknown) => ({
  ...(exact && idsBy !== undefined && { logprobs, [idsBy]: true }),
  ...(hasWeightSpans && { return_weight_versions: true })
})

const isVerified = (answer: { readonly isVerified: boolean | undefined }) => answer.isVerified

/** A request's parameters for calls and output constraints. */
const choosing = ({ toolChoice, constraints }: ChatRequest, { kind }: Identity) =>
  kind === "transformers" ? {} : { ...(toolChoice !== undefined && { tool_choice: toolChoice }), ...constraints?.body }

/** 502, 503, 504: a gateway, or the server itself, reports that it is unavailable. */
const isFromGateway = (status: number): boolean => status >= 502 && status <= 504
