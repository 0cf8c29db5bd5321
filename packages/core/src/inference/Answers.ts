/** What a sampled answer says: its text, its calls, and the message that the client gets. */
import { Effect } from "effect"
import type { ChatRequest, Choice, TokenChoice } from "./backend/Inference.ts"
import { type Message, text as textOf } from "../Message.ts"
import type { Translator } from "./ToolCalls.ts"
import type { TokenizerShape } from "./tokenizer/Tokenizer.ts"

export interface Read {
  readonly choice: Choice
  /** As the client has it afterwards: with the words that it began the answer with. */
  readonly message: Message
}

export interface Answers {
  /**
   * An answer to a chat. The stop string that ended it is no part of its text; the ids keep it. `inputIds` are those of
   * the prompt, whose end says whether the answer begins in the middle of thinking.
   */
  readonly ofChat: (request: ChatRequest, inputIds: ReadonlyArray<number>, sampled: TokenChoice) => Effect.Effect<Read>
  /** An answer to a text. */
  readonly ofText: (sampled: TokenChoice) => Read
}

/** `hasSpecialMarks`: the model's format has marks that are special tokens, whether or not there are tools. */
export const make = (tokenizer: TokenizerShape, translator: Translator, hasSpecialMarks: boolean): Answers => ({
  ofChat: Effect.fnUntraced(function* ({ messages, stop: stops = [], toolChoice, tools = [] }, inputIds, sampled) {
    const { stop, text } = cut(words(tokenizer, sampled.tokens, hasSpecialMarks || tools.length > 0), stops)
    const { content, finishReason, reasoning, toolCalls } = yield* translator.parse(text, sampled.finishReason, {
      tools,
      prompt: tokenizer.decode(inputIds.slice(-openingTokens)),
      areCalled: tools.length > 0 && toolChoice !== "none"
    })
    const message: Message = {
      role: "assistant",
      content,
      ...(reasoning !== undefined && { reasoning_content: reasoning }),
      ...(toolCalls.length > 0 && { tool_calls: toolCalls })
    }
    const last = messages.at(-1)
    return {
      choice: { ...choiceOf(message, text, sampled), toolCalls, finishReason, ...(stop !== undefined && { stop }) },
      message:
        last?.role === "assistant" ? Object.assign({}, message, { content: textOf(last) + (content ?? "") }) : message
    }
  }),
  ofText: (sampled) => {
    const text = words(tokenizer, sampled.tokens, false)
    const message: Message = { role: "assistant", content: text }
    return { choice: choiceOf(message, text, sampled), message }
  }
})

/** As many tokens as any template opens an answer with. */
const openingTokens = 24

/** A text up to the first of its stop strings. */
const cut = (text: string, stops: ReadonlyArray<string>): { readonly text: string; readonly stop?: string } => {
  let first: { readonly text: string; readonly stop: string } | undefined
  for (const stop of stops) {
    const at = stop === "" ? -1 : text.indexOf(stop)
    if (at !== -1 && (first === undefined || at < first.text.length)) first = { text: text.slice(0, at), stop }
  }
  return first ?? { text }
}

/** The words of an answer. With tools, tags that are special tokens have to survive; the end token is never of it. */
const words = (
  { decode, eosTokenId }: TokenizerShape,
  tokens: ReadonlyArray<number>,
  keepSpecialTokens: boolean
): string => {
  const isEnded = eosTokenId !== undefined && tokens.at(-1) === eosTokenId
  return keepSpecialTokens
    ? decode(isEnded ? tokens.slice(0, -1) : tokens)
    : decode(tokens, { skipSpecialTokens: true })
}

const choiceOf = (message: Message, text: string, { finishReason, policyVersion, sampling }: TokenChoice): Choice => ({
  message,
  text,
  toolCalls: [],
  finishReason,
  ...(policyVersion !== undefined && { policyVersion }),
  ...(sampling !== undefined && { sampling })
})
