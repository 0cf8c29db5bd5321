/**
 * Which inference server answers, how many requests at once, and how often again.
 *
 * Guarantees: training and evaluation requests have separate limits per server; a request goes to the healthy server with the
 * most room and to another one when that dies; retries are bounded, jittered and respect Retry-After; nothing waits for ever.
 */
import { Context, type Effect, type Scope } from "effect"
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
} from "./Inference.ts"
import type { Trajectory } from "./Trajectory.ts"

export * from "./Inference.ts"

export interface ServerManagerShape {
  /** n rollouts of a chat, one trajectory each, with exact tokens where the server has them and the tokenizer's elsewhere. */
  readonly chat: (request: ChatRequest) => Effect.Effect<ReadonlyArray<Trajectory>, InferenceError>
  /** n rollouts of a text prompt. */
  readonly complete: (request: TextRequest) => Effect.Effect<ReadonlyArray<Trajectory>, InferenceError>
  /** n answers to a chat without token tracking (judges, evaluation). */
  readonly answer: (request: ChatRequest) => Effect.Effect<ReadonlyArray<Choice>, InferenceError>
  /** n completions of token ids, as sampled. */
  readonly tokens: (request: TokensRequest) => Effect.Effect<ReadonlyArray<TokenChoice>, InferenceError>
  /** Top-k logprobs of every position of a prompt (teacher distillation). */
  readonly promptLogprobs: (request: PromptRequest) => Effect.Effect<PromptLogprobs, InferenceError>
  /** A tracked session, tied to one server for as long as the scope is open. */
  readonly tracked: (options?: {
    readonly preserveThinkBlocks?: boolean
  }) => Effect.Effect<TrackedSession, InferenceError, Scope.Scope>
  /** Number of servers; what `max_num_workers_per_node` is multiplied by. */
  readonly serverCount: number
  /** Name of the model the first server serves. */
  readonly modelName: string
  readonly metrics: Effect.Effect<ReadonlyArray<ServerMetrics>>
  /** Share of each server's training slots this program may use, in (0, 1]: the `env_weight` of the trajectory service. */
  readonly setWeight: (weight: number) => Effect.Effect<void>
}

export class ServerManager extends Context.Service<ServerManager, ServerManagerShape>()(
  "@atropos/core/ServerManager"
) {}
