/** A policy that is served: the engine with its tokenizer and name, as the HTTP endpoints and the back end in process use it. */
import { Tokenizer } from "@atropos/core"
import * as TrackedSequence from "@atropos/core/TrackedSequence"
import { Effect } from "effect"
import * as Completions from "./Completions.ts"
import * as Engine from "./Engine.ts"

export interface Options {
  /** What clients call the newest weights; older ones and other adapters go by the name they were loaded under. */
  readonly modelName: string
  /** Tokens that end a sequence; default: the tokenizer's. */
  readonly endTokenIds?: ReadonlyArray<number>
  /** Longest prompt and completion together, tokens: what a completion without a limit of its own may fill. */
  readonly maxSequenceTokens: number
}

export interface Served extends Required<Options> {
  readonly engine: Engine.Shape
  readonly tokenizer: Tokenizer.TokenizerShape
  readonly completions: Completions.Completions
  /** Ids of a prompt text; a frame such as a BOS is there exactly once. */
  readonly encodePrompt: (text: string) => ReadonlyArray<number>
}

export const make = Effect.fn("Served.make")(function* (options: Options) {
  const engine = yield* Engine.Engine
  const tokenizer = yield* Tokenizer.Tokenizer
  const { eosTokenId } = tokenizer
  return {
    modelName: options.modelName,
    maxSequenceTokens: options.maxSequenceTokens,
    endTokenIds: options.endTokenIds ?? (eosTokenId === undefined ? [] : [eosTokenId]),
    engine,
    tokenizer,
    completions: Completions.make(engine, tokenizer),
    encodePrompt: TrackedSequence.makePromptEncoder(tokenizer).whole
  } satisfies Served
})

/** Tokens a completion may have where the request does not say: at least one, so that the engine can say what is too long. */
export const room = ({ maxSequenceTokens }: Served, promptTokens: number): number =>
  Math.max(1, maxSequenceTokens - promptTokens)
