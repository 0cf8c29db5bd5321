/** A served policy: the engine with its tokenizer and name, for the HTTP endpoints and the in-process back end. */
import { type Message, type OutputFormat, OutputFormats, Tokenizer } from "@atropos/core"
import { Effect, Schema } from "effect"
import * as PromptBound from "@atropos/core/inference/tokenizer/PromptBound"
import * as Completions from "./Completions.ts"
import * as Engine from "../engine/Engine.ts"

/** A prompt that cannot be tokenized, or messages that the chat template rejects. */
export class PromptError extends Schema.TaggedError<PromptError>()("PromptError", {
  message: Schema.String,
  /** It has more tokens than a sequence may have. */
  isTooLong: Schema.optionalKey(Schema.Boolean),
  cause: Schema.optionalKey(Schema.Defect())
}) {}

export interface Options {
  /** Name of the newest weights; older ones and other adapters have the name they were loaded under. */
  readonly modelName: string
  /** End-of-sequence tokens; default: the tokenizer's. */
  readonly endTokenIds?: ReadonlyArray<number>
  /** Max prompt and completion together, tokens; a completion without its own limit may use all of it. */
  readonly maxSequenceTokens: number
  /** The model's format of calls and thinking; default: detected from its tokenizer. */
  readonly toolCallFormat?: OutputFormat.Setting
}

export interface ServedPolicy extends Required<Omit<Options, "toolCallFormat">> {
  readonly format: OutputFormat.OutputFormat
  readonly engine: Engine.Shape
  readonly tokenizer: Tokenizer.TokenizerShape
  readonly completions: Completions.Completions
  /**
   * Tokenizes a prompt. Framing tokens such as BOS occur exactly once, even if the text contains them; `isFramed`
   * false: none are added. A text too long for `maxTokens` (default: a sequence) is rejected before it is fully
   * encoded.
   */
  readonly encode: (
    text: string,
    isFramed?: boolean,
    maxTokens?: number
  ) => Effect.Effect<ReadonlyArray<number>, PromptError>
  /**
   * Max tokens of a completion: those requested, or all that the prompt leaves; at least one, so that the engine
   * reports a prompt that is too long. A reduced limit is logged once.
   */
  readonly room: (promptTokens: number, target: number | undefined) => Effect.Effect<number>
  readonly render: (
    messages: ReadonlyArray<Message.Message>,
    options: Tokenizer.ChatTemplateOptions
  ) => Effect.Effect<string, PromptError>
}

const attempt = <A>(what: string, make: () => A): Effect.Effect<A, PromptError> =>
  Effect.try({
    try: make,
    catch: (cause) =>
      new PromptError({ message: `${what}: ${cause instanceof Error ? cause.message : String(cause)}`, cause })
  })

/** Tokens that a tokenizer puts before a text. */
const frameOf = ({ encode, eosTokenId }: Tokenizer.TokenizerShape): ReadonlyArray<number> => {
  const frame = encode("")
  return frame.length > 1 && frame.at(-1) === eosTokenId ? frame.slice(0, -1) : frame
}

export const make = Effect.fn("ServedPolicy.make")(function* (options: Options) {
  const engine = yield* Engine.Engine
  const tokenizer = yield* Tokenizer.Tokenizer
  const { eosTokenId } = tokenizer
  const frame = frameOf(tokenizer)
  const { maxSequenceTokens } = options
  let hasLogged = false
  return {
    modelName: options.modelName,
    maxSequenceTokens,
    endTokenIds: options.endTokenIds ?? (eosTokenId === undefined ? [] : [eosTokenId]),
    engine,
    tokenizer,
    format: OutputFormats.of(tokenizer, options.toolCallFormat),
    completions: Completions.make(engine, tokenizer),
    encode: Effect.fnUntraced(function* (text, isFramed = true, maxTokens = maxSequenceTokens) {
      const isTooLong = yield* Effect.catchDefect(PromptBound.exceeds(tokenizer, text, maxTokens), (cause) =>
        attempt("the tokenizer rejects this prompt", () => {
          throw cause
        })
      )
      if (isTooLong) {
        const message = `a prompt of ${text.length} characters exceeds the limit of ${maxTokens} tokens`
        return yield* new PromptError({ message, isTooLong })
      }
      return yield* attempt("the tokenizer rejects this prompt", () => {
        const ids = tokenizer.encode(text, { addSpecialTokens: false })
        return !isFramed || frame.every((id, index) => ids[index] === id) ? ids : [...frame, ...ids]
      })
    }),
    room: (promptTokens, target) => {
      const left = Math.max(1, maxSequenceTokens - promptTokens)
      if (target === undefined || target <= left) return Effect.succeed(target ?? left)
      if (hasLogged) return Effect.succeed(left)
      hasLogged = true
      return Effect.as(
        Effect.logInfo("completions are limited by the max sequence length", {
          requested: target,
          left,
          because: `the prompt has ${promptTokens} tokens; a sequence has at most ${maxSequenceTokens}`
        }),
        left
      )
    },
    render: (messages, options) =>
      attempt("the chat template rejects these messages", () => tokenizer.applyChatTemplate(messages, options))
  } satisfies ServedPolicy
})
