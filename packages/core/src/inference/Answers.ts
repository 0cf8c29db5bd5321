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
  /** An answer to a chat. */
  readonly ofChat: (request: ChatRequest, sampled: TokenChoice) => Effect.Effect<Read>
  /** An answer to a text. */
  readonly ofText: (sampled: TokenChoice) => Read
}

/** `hasSpecialMarks`: the model's format has marks that are special tokens, whether or not there are tools. */
export const make = (tokenizer: TokenizerShape, translator: Translator, hasSpecialMarks: boolean): Answers => ({
  ofChat: Effect.fnUntraced(function* ({ messages, toolChoice, tools = [] }, sampled) {
    const text = words(tokenizer, sampled.tokens, hasSpecialMarks || tools.length > 0)
    const { content, finishReason, reasoning, toolCalls } = yield* translator.parse(text, sampled.finishReason, {
      tools,
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
      choice: { ...choiceOf(message, text, sampled), toolCalls, finishReason },
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
