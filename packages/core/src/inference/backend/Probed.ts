/**
 * A backend for a server of unknown kind: the first request identifies it (`Identify`), and all requests then use the
 * best supported endpoint.
 *
 * Nothing is sent until needed, except for `identify`, which is called early at the start of a run. The server's
 * identity, wrong settings, and what its rollouts will lack are logged once. A server that was unavailable is
 * identified by the next request.
 */
import { Effect, Semaphore } from "effect"
import type { InferenceError } from "../wire/Inference.ts"
import type { TokenizerShape } from "../tokenizer/Tokenizer.ts"
import type { Backend, Capabilities } from "./Backend.ts"
import * as Adapters from "./Adapters.ts"
import * as Identify from "./Identify.ts"
import * as Identity from "./Identity.ts"
import * as OpenAi from "./OpenAi.ts"
import * as Patched from "./Patched.ts"
import * as Sglang from "./Sglang.ts"
import * as TokenizerCheck from "./TokenizerCheck.ts"
import * as Trl from "./Trl.ts"
import * as Vllm from "./Vllm.ts"

interface Options extends Omit<OpenAi.Options, "identity" | "tokenizer"> {
  /** True if its answers may be trained on: only then are missing tokens and logprobs logged. Default true. */
  readonly isTrainedOn?: boolean
}

const make = (given: OpenAi.Options, tokenizer: TokenizerShape | undefined): Effect.Effect<Backend> => {
  const options = { ...given, tokenizer }
  switch (given.identity.kind) {
    case "vllm":
      return Vllm.make(options)
    case "patched":
    case "policy":
      return Patched.make(options)
    case "sglang":
      return Sglang.make(options)
    case "trl":
      return Effect.succeed(Trl.make(options, tokenizer))
    case "transformers":
    case "openai":
      return OpenAi.make(options)
  }
}

/** The identity of a server, including its measured logprobs mode, and its backend. */
export const find = Effect.fn("Probed.find")(function* (options: Options, tokenizer: TokenizerShape | undefined) {
  const { settings, transport } = options
  const identified: Identity.Identity = yield* Identify.identify(settings, transport)
  const backend = yield* make({ ...options, identity: identified }, tokenizer)
  if (settings.logprobsMode !== "auto") {
    const identity = { ...identified, logprobs: settings.logprobsMode }
    return { identity, backend: yield* make({ ...options, identity }, tokenizer) }
  }
  // Our policy server reports the mode with every answer.
  if (!backend.capabilities.tokens || identified.kind === "policy") return { identity: identified, backend }
  // The base model suffices; adapters may be loaded later.
  const model = yield* make({ ...options, adapters: Adapters.makeNone(), identity: identified }, tokenizer)
  const mode = yield* Identify.measured(model, identified.kind).pipe(
    // The endpoint is missing after all, or ignores what was requested: treated like any other server with OpenAI's
    // routes.
    Effect.catchIf(
      ({ reason }) => reason === "rejected" || reason === "unsupported" || reason === "malformed",
      ({ message }) =>
        Effect.as(
          Effect.logWarning("no exact tokens from this server", { server: settings.baseUrl ?? "", reason: message }),
          "none" as const
        )
    )
  )
  const identity: Identity.Identity =
    mode === "none"
      ? { ...identified, tokens: undefined, idsBy: undefined, logprobs: undefined, promptLogprobs: false }
      : { ...identified, logprobs: mode ?? identified.logprobs }
  return { identity, backend: yield* make({ ...options, identity }, tokenizer) }
})

export const warnings = (
  { adapterPrefix, modelName, serverType }: OpenAi.Options["settings"],
  server: string,
  identity: Identity.Identity,
  isTrainedOn = true
): ReadonlyArray<string> => {
  const shortcoming = isTrainedOn ? Identity.shortcoming(server, identity) : undefined
  const isListed = identity.models.length === 0 || modelName === "default" || identity.models.includes(modelName)
  return [
    ...(Identity.isOfType(identity.kind, serverType)
      ? []
      : [`server_type is ${serverType}, but ${server} is ${Identity.nameOf(identity)}; using the latter`]),
    ...(isListed
      ? []
      : [
          `${server} has no model ${modelName}: it has ${identity.models.slice(0, 5).join(", ")} (--openai.model_name)`
        ]),
    ...(adapterPrefix !== null && identity.adapters === false
      ? [
          `adapter_prefix is set, but ${server} (${Identity.nameOf(identity)}) cannot load adapters at runtime` +
            (identity.kind === "vllm" ? ": start it with --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=True" : "")
        ]
      : []),
    ...(shortcoming === undefined ? [] : [shortcoming])
  ]
}

const always = (): boolean => true
const never = (): boolean => false

const nothing: Capabilities = { tokens: false, promptLogprobs: false }

export const backend = (options: Options, tokenizer: TokenizerShape | undefined): Effect.Effect<Backend> =>
  Effect.map(Semaphore.make(1), (one) => {
    const { isTrainedOn, settings, transport } = options
    const server = settings.baseUrl ?? ""
    let known: { readonly identity: Identity.Identity; readonly backend: Backend } | undefined

    const ask = Effect.suspend(() =>
      known !== undefined
        ? Effect.succeed(known)
        : Effect.tap(find(options, tokenizer), (found) =>
            Effect.gen(function* () {
              known = found
              yield* Effect.logInfo("inference server", { server, is: Identity.describe(found.identity) })
              for (const warning of warnings(settings, server, found.identity, isTrainedOn)) {
                yield* Effect.logWarning(warning)
              }
            })
          )
    )
    const probe = Effect.suspend(() => (known !== undefined ? Effect.succeed(known) : one.withPermits(1)(ask)))
    /** Before the first answer with tokens: checks that ids mean the same here and on the server. */
    let comparison: { readonly mismatch: InferenceError | undefined } | undefined
    const compare = Effect.suspend(() => {
      if (tokenizer === undefined || known === undefined || comparison !== undefined) return Effect.void
      const { backend, identity } = known
      if (identity.tokens === undefined && identity.idsBy === undefined) return Effect.void
      return TokenizerCheck.check({ backend, identity, settings, tokenizer, transport }).pipe(
        Effect.tap((what) =>
          what === "none"
            ? Effect.logWarning(
                "the server's tokenizer cannot be checked: it has no /tokenize and reports no prompt tokens. Make sure that its model uses this one",
                { server, tokenizer: tokenizer.name }
              )
            : Effect.void
        ),
        Effect.matchEffect({
          onSuccess: () => Effect.sync(() => void (comparison = { mismatch: undefined })),
          onFailure: (error) =>
            error.reason === "rejected"
              ? Effect.sync(() => void (comparison = { mismatch: error }))
              : Effect.fail(error)
        })
      )
    })
    const compared = Effect.suspend(() => (comparison === undefined ? one.withPermits(1)(compare) : Effect.void)).pipe(
      Effect.andThen(Effect.suspend(() => (comparison?.mismatch === undefined ? Effect.void : comparison.mismatch)))
    )
    const using =
      <R, A>(
        use: (backend: Backend) => (request: R) => Effect.Effect<A, InferenceError>,
        isExact: (request: R) => boolean
      ) =>
      (request: R) =>
        Effect.flatMap(probe, (one) =>
          isExact(request) ? Effect.andThen(compared, use(one.backend)(request)) : use(one.backend)(request)
        )

    return {
      server,
      modelName: settings.modelName,
      get capabilities() {
        return known?.backend.capabilities ?? nothing
      },
      identify: probe,
      get identity() {
        return known?.identity
      },
      get load() {
        return known?.backend.load
      },
      get contextLength() {
        return known?.identity.contextLength
      },
      chat: using(
        ({ chat }) => chat,
        ({ exact = false }) => exact
      ),
      complete: using(
        ({ complete }) => complete,
        ({ exact = false }) => exact
      ),
      tokens: using(({ tokens }) => tokens, always),
      // A teacher's tokenizer has its own check.
      promptLogprobs: using(({ promptLogprobs }) => promptLogprobs, never),
      health: Effect.suspend(() =>
        known !== undefined
          ? known.backend.health
          : transport.isThere({ server, url: `${server}/models`, apiKey: settings.apiKey ?? "" }, isFromGateway)
      )
    } satisfies Backend
  })

/** A server without a model list may still be available. */
const isFromGateway = (status: number): boolean => status >= 502 && status <= 504
