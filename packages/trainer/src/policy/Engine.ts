/**
 * The generation engine: continuous batching over a key-value cache that stays on the device.
 *
 * Requests join and leave between decoding steps. A request is pinned to the weights it began with; requests that begin after a
 * `load` take the newer ones, and older weights are freed with the last request that uses them. Interrupting `generate` or
 * ending the stream frees its rows at once. Model and sampling run in a thread of their own: the caller's event loop sees
 * requests and one message of tokens for each step. Texts and stop strings are the server's.
 */
import { Context, type Effect, type Stream } from "effect"
import type {
  EngineError,
  EngineFailed,
  EngineStatus,
  Generated,
  GenerateRequest,
  Scored,
  ScoreRequest,
  TokenEvent
} from "./Generation.ts"

export * from "./Generation.ts"

export interface Shape {
  /** The `n` completions, by index. */
  readonly generate: (request: GenerateRequest) => Effect.Effect<ReadonlyArray<Generated>, EngineError>
  /** Tokens as they are sampled, those of the `n` completions interleaved; ends when all have. */
  readonly stream: (request: GenerateRequest) => Stream.Stream<TokenEvent, EngineError>
  /** Logprobs of a prompt's own tokens. */
  readonly score: (request: ScoreRequest) => Effect.Effect<Scored, EngineError>
  /** Makes these the newest weights, flat in the model's layout. They are copied before the effect ends. */
  readonly load: (policy: string, policyVersion: number, parameters: Float32Array) => Effect.Effect<void, EngineFailed>
  /** Requests that run on them go on; new ones fail with `UnknownPolicy`. */
  readonly unload: (policy: string) => Effect.Effect<void>
  readonly status: Effect.Effect<EngineStatus>
  /** Succeeds once the thread answers. */
  readonly health: Effect.Effect<void, EngineFailed>
}

export class Engine extends Context.Service<Engine, Shape>()("@atropos/trainer/policy/Engine") {}
