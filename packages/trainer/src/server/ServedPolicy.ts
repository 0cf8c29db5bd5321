/**
 * A policy that is served: the engine with its tokenizer and name, as the HTTP endpoints and the back end in process
 * use it.
 */
import { type Message, type OutputFormat, OutputFormats, Tokenizer } from "@atropos/core"
import { Effect, Schema } from "effect"
import * as PromptBound from "@atropos/core/inference/tokenizer/PromptBound"
import * as Completions from "./Completions.ts"
import * as Engine from "../engine/Engine.ts"

/** A prompt that the tokenizer cannot turn into ids, or messages that its chat template does not take. */
export class PromptError extends Schema.TaggedError<PromptError>()("PromptError", {
  message: Schema.String,
  /** It has more tokens than a sequence may have. */
  isTooLong: Schema.optionalKey(Schema.Boolean),
  cause: Schema.optionalKey(Schema.Defect())
}) {}

export interface Options {
  /** What clients call the newest weights; older ones and other adapters go by the name they were loaded under. */
  readonly modelName: string
  /** Tokens that end a sequence; default: the tokenizer's. */
  readonly endTokenIds?: ReadonlyArray<number>
  /** Longest prompt and completion together, tokens: what a completion without a limit of its own may fill. */
  readonly maxSequenceTokens: number
  /** How the model writes calls and thinking; default: what its tokenizer says. */
  readonly toolCallFormat?: OutputFormat.Setting
}

export interface ServedPolicy extends Required<Omit<Options, "toolCallFormat">> {
  readonly format: OutputFormat.OutputFormat
  readonly engine: Engine.Shape
  readonly tokenizer: Tokenizer.TokenizerShape
  readonly completions: Completions.Completions
  /**
   * Ids of a prompt text. A frame such as a BOS is there exactly once, even where the text writes it out; `isFramed`
   * false: none is added. A text that is too long for `maxTokens` (default: a sequence) is refused before all of it is
   * encoded.
   */
  readonly encode: (
    text: string,
    isFramed?: boolean,
    maxTokens?: number
  ) => Effect.Effect<ReadonlyArray<number>, PromptError>
  /**
   * Tokens a completion may have: those asked for, as far as the prompt leaves room, or all the room; at least one, so
   * that the engine can say what is too long. That a request was cut is logged once.
   */
  readonly room: (promptTokens: number, wanted: number | undefined) => Effect.Effect<number>
  /** The prompt text of a chat. */
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

/** What a tokenizer puts before a text. */
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
        attempt("the tokenizer does not take this prompt", () => {
          throw cause
        })
      )
      if (isTooLong) {
        const message = `a prompt of ${text.length} characters is longer than the ${maxTokens} tokens that it may have`
        return yield* new PromptError({ message, isTooLong })
      }
      return yield* attempt("the tokenizer does not take this prompt", () => {
        const ids = tokenizer.encode(text, { addSpecialTokens: false })
        return !isFramed || frame.every((id, index) => ids[index] === id) ? ids : [...frame, ...ids]
      })
    }),
    room: (promptTokens, wanted) => {
      const left = Math.max(1, maxSequenceTokens - promptTokens)
      if (wanted === undefined || wanted <= left) return Effect.succeed(wanted ?? left)
      if (hasLogged) return Effect.succeed(left)
      hasLogged = true
      return Effect.as(
        Effect.logInfo("completions are cut to the longest sequence", {
          requested: wanted,
          left,
          because: `the prompt has ${promptTokens} tokens; a sequence has at most ${maxSequenceTokens}`
        }),
        left
      )
    },
    render: (messages, options) =>
      attempt("the chat template does not take these messages", () => tokenizer.applyChatTemplate(messages, options))
  } satisfies ServedPolicy
})
