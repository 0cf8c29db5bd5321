/**
 * Load-balances requests over inference servers.
 *
 * Guarantees: training and evaluation requests have separate limits per server; a request goes to the healthy server
 * with the most capacity, and to another one if that dies; retries are bounded, jittered and respect Retry-After;
 * nothing waits forever.
 */
import { Context, Duration, Effect, Layer, Option, Schedule, type Scope } from "effect"
import type {
  ChatRequest,
  Choice,
  InferenceError,
  PromptLogprobs,
  PromptRequest,
  ServerMetrics,
  TextRequest,
  TokenChoice,
  TokensRequest,
  TrackedSession
} from "./wire/Inference.ts"
import * as Adapters from "./backend/Adapters.ts"
import type { Answer, Backend } from "./backend/Backend.ts"
import * as ServerPool from "./ServerPool.ts"
import type * as InferenceServer from "./InferenceServer.ts"
import * as Probed from "./backend/Probed.ts"
import * as Routing from "./Routing.ts"
import * as Scripted from "./backend/Scripted.ts"
import * as ScriptedCalls from "./backend/ScriptedCalls.ts"
import * as Transport from "./wire/Transport.ts"
import * as Platform from "../base/system/Platform.ts"
import * as Reasoning from "./backend/Reasoning.ts"
import * as ServerSettings from "./backend/ServerSettings.ts"
import type { SlurmError } from "./backend/Slurm.ts"
import { bytes, layerNamed, Tokenizer, TokenizerError, type TokenizerShape } from "./tokenizer/Tokenizer.ts"
import * as TrackedSequences from "./sequences/TrackedSequences.ts"
import type { Trajectory } from "../trajectory/Trajectory.ts"

export * from "./wire/Inference.ts"
export type { Answer, Backend, Capabilities } from "./backend/Backend.ts"
export type { Completion, Options as ScriptedOptions, Script, ScriptedRequest } from "./backend/Scripted.ts"

export type Tracked = TrackedSequences.Settings

export interface ServerManagerShape {
  /**
   * n rollouts of a chat, one trajectory each, with exact tokens if the server reports them and the tokenizer's
   * otherwise.
   */
  readonly chat: (request: ChatRequest) => Effect.Effect<ReadonlyArray<Trajectory>, InferenceError>
  /** n rollouts of a text prompt. */
  readonly complete: (request: TextRequest) => Effect.Effect<ReadonlyArray<Trajectory>, InferenceError>
  /** n answers to a chat without token tracking (judges, evaluation). */
  readonly answer: (request: ChatRequest) => Effect.Effect<ReadonlyArray<Choice>, InferenceError>
  /** Like `answer`, with the token counts that the server bills. */
  readonly ask: (request: ChatRequest) => Effect.Effect<Answer, InferenceError>
  /** n completions of token ids, as sampled. */
  readonly tokens: (request: TokensRequest) => Effect.Effect<ReadonlyArray<TokenChoice>, InferenceError>
  /** Top-k logprobs of every position of a prompt (teacher distillation). */
  readonly promptLogprobs: (request: PromptRequest) => Effect.Effect<PromptLogprobs, InferenceError>
  /** A server's token ids of a text, if it provides them: the local tokenizer must produce the same. */
  readonly tokenize: (text: string) => Effect.Effect<Option.Option<ReadonlyArray<number>>, InferenceError>
  /** A tracked session, bound to one server until the scope closes. */
  readonly tracked: (options?: Tracked) => Effect.Effect<TrackedSession, InferenceError, Scope.Scope>
  /** Number of servers; multiplied by `max_num_workers_per_node`. */
  readonly serverCount: number
  /** Renders chats to prompts and counts tokens locally; absent if only the servers do. */
  readonly tokenizer?: TokenizerShape
  readonly modelName: string
  readonly metrics: Effect.Effect<ReadonlyArray<ServerMetrics>>
  /**
   * Share of each server's training slots this program may use, in (0, 1]: the `env_weight` of the trajectory service.
   */
  readonly setWeight: (weight: number) => Effect.Effect<void>
  /**
   * Checks now which weights the servers have: later requests are sampled neither with weights older than those already
   * loaded (`adapter_prefix`), nor with a policy version below `atLeast`, for which they wait.
   */
  readonly refresh: (atLeast?: number) => Effect.Effect<void>
}

export class ServerManager extends Context.Service<ServerManager, ServerManagerShape>()(
  "@atropos/core/ServerManager"
) {}

export interface Options extends Partial<ServerSettings.Manager> {
  /** One server, a list, or (absent, or one without an address) Slurm's nodes or localhost:9004 to 9007. */
  readonly servers?: Partial<ServerSettings.Server> | ReadonlyArray<Partial<ServerSettings.Server>>
  /** Requested in every chat that does not skip it. Default: off. */
  readonly reasoning?: Reasoning.Reasoning
  /** True if answers may be trained on (not those of judges and evaluations). Default true. */
  readonly isTrainedOn?: boolean
}

/**
 * The inference servers of a configuration. Building it does not wait for servers, so it may start before them. The
 * tokenizer named by the servers' settings, else the `Tokenizer` in the context, renders chats to prompts for
 * token-level servers and counts the tokens of the others.
 */
export const layer = (options: Options = {}): Layer.Layer<ServerManager, SlurmError | TokenizerError> =>
  Layer.effect(
    ServerManager,
    Effect.gen(function* () {
      const { isTrainedOn = true, reasoning = Reasoning.off, servers: given, ...rest } = options
      const manager = ServerSettings.manager.complete(rest)
      const present = Option.getOrUndefined(yield* Effect.serviceOption(Tokenizer))
      if (manager.testing) {
        const script = ScriptedCalls.make(present ?? bytes, manager.toolCallFormat)
        return yield* make([unlimited(Scripted.make(script, present ?? bytes))], manager, {
          tokenizer: present ?? bytes
        })
      }
      const { origin, servers } = yield* ServerSettings.resolve(given, manager.slurm)
      const tokenizer = yield* tokenizerOf(servers, present)
      const transport = yield* Transport.make
      const adapters = yield* Effect.forEach(servers, (settings) => Adapters.make(settings, transport))
      const members = yield* Effect.forEach(servers, (settings, index) =>
        Effect.map(
          Probed.backend({ settings, reasoning, transport, adapters: adapters[index]!, isTrainedOn }, tokenizer),
          (backend) => ({ ...settings, backend })
        )
      )
      const isDefault = origin === "defaults"
      for (const settings of servers) {
        const missing = ServerSettings.missingIn(settings)
        if (missing !== undefined) yield* Effect.logWarning(missing)
      }
      yield* Effect.forEach(members, ({ backend }) => probe(backend, !isDefault), { discard: true })
      return yield* make(members, manager, {
        tokenizer,
        refresh: (atLeast) =>
          Effect.forEach(adapters, ({ refresh }) => refresh(atLeast), { concurrency: "unbounded", discard: true }),
        ...(isDefault && {
          serverWait: ServerSettings.waitOf(origin, manager.serverWait),
          advice:
            ". These are the defaults, as no server was configured: give base_url (--openai.base_url) or start one there"
        })
      })
    })
  ).pipe(Layer.provide(Platform.layer))

/**
 * The tokenizer named by the servers' settings, else the present one. One for all, because a session may move between
 * servers.
 */
const tokenizerOf = Effect.fnUntraced(function* (
  servers: ReadonlyArray<ServerSettings.Server>,
  present: TokenizerShape | undefined
) {
  const names = new Set(servers.map(({ tokenizerName }) => tokenizerName).filter((name) => name !== "none"))
  const [name] = names
  if (name === undefined || (names.size === 1 && name === present?.name)) return present
  if (names.size > 1) {
    const list = [...names].join(", ")
    return yield* new TokenizerError({
      tokenizer: list,
      message: `the servers name different tokenizers (${list}): give all of them the same tokenizer_name`
    })
  }
  return Context.get(yield* Layer.build(layerNamed(name)), Tokenizer)
})

/** A manager over custom backends with the default limits, for example a policy in this process. */
export const layerBackends = (
  backends: ReadonlyArray<Backend>,
  options: Partial<ServerSettings.Manager> & Partial<ServerSettings.Server> = {}
): Layer.Layer<ServerManager> =>
  Layer.effect(
    ServerManager,
    Effect.gen(function* () {
      const tokenizer = Option.getOrUndefined(yield* Effect.serviceOption(Tokenizer))
      const settings = { ...ServerSettings.server.complete({}), ...options }
      return yield* make(
        backends.map((backend) => ({ ...settings, backend })),
        { ...ServerSettings.manager.complete({}), ...options },
        { tokenizer }
      )
    })
  )

/** A scripted policy, with exact tokens of the context's `Tokenizer`, or of bytes. */
export const layerScripted = (script: Scripted.Script, options: Scripted.Options = {}): Layer.Layer<ServerManager> =>
  Layer.effect(
    ServerManager,
    Effect.gen(function* () {
      const tokenizer = Option.getOrElse(yield* Effect.serviceOption(Tokenizer), () => bytes)
      // Not split by n: a script is followed in the order of its requests.
      const manager = { ...ServerSettings.manager.complete({}), maxNCompletions: Infinity }
      return yield* make([unlimited(Scripted.make(script, tokenizer, options))], manager, { tokenizer })
    })
  )

/** No waiting and no timers for a policy in this process. */
const unlimited = (backend: Backend): InferenceServer.InferenceServerSettings => ({
  ...ServerSettings.server.complete({}),
  backend,
  timeout: Infinity,
  adaptiveConcurrency: false,
  numMaxRequestsAtOnce: Infinity,
  numRequestsForEval: Infinity
})

/** Identifies a server at the start, so that its findings are logged early; retries while it is not available. */
const probe = (backend: Backend, isConfigured: boolean): Effect.Effect<void, never, Scope.Scope> => {
  let failures = 0
  return (backend.identify ?? Effect.void).pipe(
    Effect.tapError(({ message, reason }) =>
      isConfigured && failures++ === 0
        ? Effect.logWarning(
            reason === "rejected" ? "inference server rejects requests" : "inference server is not up yet",
            {
              server: backend.server,
              message
            }
          )
        : Effect.void
    ),
    Effect.retry(
      Schedule.exponential("500 millis").pipe(
        Schedule.modifyDelay(({ duration }) => Effect.succeed(Duration.min(duration, Duration.seconds(15))))
      )
    ),
    Effect.ignore,
    Effect.forkScoped,
    Effect.asVoid
  )
}

const make = Effect.fn("ServerManager.make")(function* (
  members: ReadonlyArray<InferenceServer.InferenceServerSettings>,
  manager: Pick<ServerSettings.Manager, "maxAttempts" | "maxNCompletions" | "serverWait" | "toolCallFormat">,
  around: {
    readonly tokenizer: TokenizerShape | undefined
    readonly refresh?: ServerManagerShape["refresh"]
    readonly serverWait?: number
    readonly advice?: string
  }
) {
  const { toolCallFormat: format } = manager
  const { advice = "", refresh = () => Effect.void, serverWait = manager.serverWait, tokenizer } = around
  const pool = yield* ServerPool.make(members, { serverWait: Duration.seconds(serverWait), advice })
  const everyone = Routing.backend(pool, manager)
  const once = (ask: (session: TrackedSession) => Effect.Effect<unknown, InferenceError>) =>
    Effect.gen(function* () {
      // The servers determine whether tokens or text are requested.
      yield* everyone.identify
      const session = TrackedSequences.session({ backend: everyone, tokenizer, format })
      yield* ask(session)
      return yield* session.trajectories
    })
  return ServerManager.of({
    chat: Effect.fn("ServerManager.chat")((request) => once((session) => session.chat(request))),
    complete: Effect.fn("ServerManager.complete")((request) => once((session) => session.complete(request))),
    answer: Effect.fn("ServerManager.answer")((request) =>
      Effect.map(everyone.chat(request), ({ choices }) => choices)
    ),
    ask: Effect.fn("ServerManager.ask")((request) => everyone.chat(request)),
    tokens: everyone.tokens,
    promptLogprobs: everyone.promptLogprobs,
    tokenize: Effect.fn("ServerManager.tokenize")((prompt) =>
      Effect.map(
        everyone.complete({ prompt, n: 1, maxTokens: 1, temperature: 0, split: "eval", exact: true }),
        ({ promptTokens }) => Option.fromNullishOr(promptTokens)
      )
    ),
    tracked: (settings = {}) =>
      Effect.map(everyone.identify, () => {
        const prefer = pool.leastLoaded(({ backend }) => backend.capabilities.tokens) ?? pool.leastLoaded(() => true)
        return TrackedSequences.session({
          backend: Routing.backend(pool, manager, prefer),
          tokenizer,
          refusesPictures: true,
          format,
          ...settings
        })
      }),
    serverCount: members.length,
    ...(tokenizer !== undefined && { tokenizer }),
    modelName: everyone.modelName,
    metrics: pool.metrics,
    setWeight: pool.setWeight,
    refresh
  })
})
