/** Messages between the engine's two threads. Errors are encoded as `EngineError`. */
import type { Vocabulary } from "../grammar/Vocabulary.ts"
import type {
  EngineStatus,
  TokenCompletion,
  GenerateRequest,
  PromptLogprobs,
  PlainError,
  ScoreRequest,
  TokenEvent
} from "./EngineRequests.ts"

export type SeededRequest = GenerateRequest & { readonly seed: number }

/** To the engine's thread. */
export type Command =
  | { readonly _tag: "Generate"; readonly id: number; readonly request: SeededRequest; readonly stream: boolean }
  | { readonly _tag: "Score"; readonly id: number; readonly request: ScoreRequest }
  | { readonly _tag: "Cancel"; readonly id: number }
  /** Ends one of its choices; nothing more is reported about it. */
  | { readonly _tag: "End"; readonly id: number; readonly index: number }
  | {
      readonly _tag: "Load"
      readonly id: number
      readonly policy: string
      readonly policyVersion: number
      readonly parameters: Float32Array
      /** Fails if a prompt's logits are not finite; the name then keeps its previous weights. */
      readonly isTried?: boolean
    }
  /** Text of the tokens, sent before the first request with a schema. */
  | { readonly _tag: "Vocabulary"; readonly vocabulary: Vocabulary }
  | { readonly _tag: "Unload"; readonly policy: string }
  | { readonly _tag: "Status"; readonly id: number }

export interface SampledToken {
  readonly id: number
  readonly event: TokenEvent
}

export type Answer =
  | { readonly _tag: "Generated"; readonly id: number; readonly choices: ReadonlyArray<TokenCompletion> }
  | { readonly _tag: "Scored"; readonly id: number; readonly scored: PromptLogprobs }
  | { readonly _tag: "Failed"; readonly id: number; readonly error: PlainError }
  | { readonly _tag: "Loaded"; readonly id: number }
  | { readonly _tag: "Status"; readonly id: number; readonly status: Omit<EngineStatus, "restarts"> }

/** From the engine's thread: all results of one step. */
export interface Report {
  readonly tokens: ReadonlyArray<SampledToken>
  readonly answers: ReadonlyArray<Answer>
}
