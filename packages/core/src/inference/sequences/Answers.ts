/** Reads a sampled answer: its text, its calls, and the message that the client gets. */
import { Effect } from "effect"
import type { ChatRequest, Choice, DeltaHandler, TextRequest, TokenChoice } from "../wire/Inference.ts"
import type { OutputFormat } from "../format/OutputFormat.ts"
import * as Growing from "./Growing.ts"
import * as StopString from "../wire/StopString.ts"
import { type Message, text as textOf } from "../../trajectory/Message.ts"
import type { Translator } from "./ToolCalls.ts"
import type { TokenizerShape } from "../tokenizer/Tokenizer.ts"

export interface Read {
  readonly choice: Choice
  /** As the client will send it back, including the prefill that it began the answer with. */
  readonly message: Message
}

export interface Answers {
  /**
   * Reads the answer to a chat. The stop string that ended it is not in its text but in its ids. `inputIds` are the
   * prompt's; their end determines if the answer begins inside thinking.
   */
  readonly ofChat: (request: ChatRequest, inputIds: ReadonlyArray<number>, sampled: TokenChoice) => Effect.Effect<Read>
  /**
   * A handler of the tokens of a chat's answer during sampling; undefined if the answer can only be read as a whole.
   */
  readonly growing: (
    request: ChatRequest,
    inputIds: ReadonlyArray<number>
  ) => DeltaHandler<ReadonlyArray<number>> | undefined
  readonly ofText: (request: TextRequest, sampled: TokenChoice) => Read
}

export const make = (tokenizer: TokenizerShape, translator: Translator, format: OutputFormat): Answers => ({
  ofChat: Effect.fnUntraced(function* (request, inputIds, sampled) {
    const { messages, stop: stops } = request
    const { stop, text } = words(tokenizer, sampled, keepsMarks(format, request), stops)
    const { content, finishReason, reasoning, toolCalls } = yield* translator.parse(
      text,
      sampled.finishReason,
      contextOf(tokenizer, request, inputIds)
    )
    const message: Message = {
      role: "assistant",
      content,
      ...(reasoning !== undefined && { reasoning_content: reasoning }),
      ...(toolCalls.length > 0 && { tool_calls: toolCalls })
    }
    const last = messages.at(-1)
    return {
      choice: { ...choiceOf(message, text, stop, sampled), toolCalls, finishReason },
      message:
        last?.role === "assistant" ? Object.assign({}, message, { content: textOf(last) + (content ?? "") }) : message
    }
  }),
  growing: (request, inputIds) =>
    request.onDelta &&
    Growing.make({
      format,
      context: contextOf(tokenizer, request, inputIds),
      decode: (tokens) =>
        words(tokenizer, { tokens, logprobs: [], finishReason: "length" }, keepsMarks(format, request)).text,
      stops: request.stop ?? [],
      onDelta: request.onDelta
    }),
  ofText: ({ stop: stops }, sampled) => {
    const { stop, text } = words(tokenizer, sampled, false, stops)
    const message: Message = { role: "assistant", content: text }
    return { choice: choiceOf(message, text, stop, sampled), message }
  }
})

/** True if markers that are special tokens must be kept in the text. */
const keepsMarks = ({ hasSpecialMarks }: OutputFormat, { tools = [] }: ChatRequest): boolean =>
  hasSpecialMarks || tools.length > 0

const contextOf = (
  { decode }: TokenizerShape,
  { toolChoice, tools = [] }: ChatRequest,
  inputIds: ReadonlyArray<number>
) => ({
  tools,
  prompt: decode(inputIds.slice(-openingTokens)),
  areCalled: tools.length > 0 && toolChoice !== "none"
})

/** Max tokens with which any template opens an answer. */
const openingTokens = 24

/**
 * The text of an answer. With tools, tags that are special tokens are kept; the end token and a stop string are
 * removed.
 */
const words = (
  { decode, eosTokenId }: TokenizerShape,
  { finishReason, tokens }: TokenChoice,
  keepSpecialTokens: boolean,
  stops: ReadonlyArray<string> = []
): { readonly text: string; readonly stop?: string } => {
  const isEnded = eosTokenId !== undefined && tokens.at(-1) === eosTokenId
  const text = keepSpecialTokens
    ? decode(isEnded ? tokens.slice(0, -1) : tokens)
    : decode(tokens, { skipSpecialTokens: true })
  const stopped = finishReason === "stop" && !isEnded ? StopString.first(text, stops) : undefined
  return stopped === undefined ? { text } : { text: text.slice(0, stopped.at), stop: stopped.stop }
}

const choiceOf = (
  message: Message,
  text: string,
  stop: string | undefined,
  { finishReason, policyVersion, sampling }: TokenChoice
): Choice => ({
  message,
  text,
  toolCalls: [],
  finishReason,
  ...(stop !== undefined && { stop }),
  ...(policyVersion !== undefined && { policyVersion }),
  ...(sampling !== undefined && { sampling })
})
