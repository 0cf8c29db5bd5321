/**
 * Rejects requests that certainly exceed the max sequence length, before they are stored, hashed, rendered or encoded.
 *
 * The text of messages is checked against the token limit. Calls, reasoning and tools are only counted in characters,
 * because it is unknown here whether a chat template renders them.
 */
import { Effect } from "effect"
import { Failure } from "../dialect/Dialect.ts"
import type { ChatRequest } from "../../inference/wire/Inference.ts"
import * as PromptBound from "../../inference/tokenizer/PromptBound.ts"
import type { TokenizerShape } from "../../inference/tokenizer/Tokenizer.ts"
import * as Message from "../../trajectory/Message.ts"
import type { Limits } from "./Limits.ts"

export interface Options {
  readonly tokenizer: TokenizerShape | undefined
  readonly limits: Pick<Limits, "promptTokens">
  /** Tokens; Infinity if no max sequence length is known. */
  readonly sequenceLimit: number
  /** The server's, tokens. */
  readonly contextLength?: number | undefined
}

/** Chat templates leave out a part of some messages, such as earlier thinking, but not most of all text. */
const contextsOfText = 4

const noRoom = (what: string, characters: number, limit: number): Effect.Effect<never, Failure> =>
  Effect.fail(
    new Failure({
      reason: "noRoom",
      message: `${what} of ${characters} characters exceed the prompt limit of ${limit} tokens`
    })
  )

const beyondContext = (characters: number, contextLength: number): Effect.Effect<never, Failure> =>
  Effect.fail(
    new Failure({
      reason: "noRoom",
      message:
        `messages of ${characters} characters leave no tokens for an answer: the server's context has ` +
        `${contextLength} tokens: raise it (vLLM: --max-model-len), or shorten the prompts`
    })
  )

/** Characters that may be rendered in addition to the text of the messages. */
const charactersBeside = ({ messages, tools = [] }: ChatRequest): number =>
  messages.reduce(
    (sum, { reasoning_content: thoughts, tool_calls: calls = [] }) =>
      sum +
      (thoughts?.length ?? 0) +
      calls.reduce((all, { function: { arguments: text, name } }) => all + name.length + text.length, 0),
    JSON.stringify(tools).length
  )

export const check = (
  { contextLength = Number.POSITIVE_INFINITY, limits, sequenceLimit, tokenizer }: Options,
  request: ChatRequest
): Effect.Effect<void, Failure> =>
  Effect.suspend(() => {
    const text = request.messages.map(Message.text).join("\n")
    const all = text.length + charactersBeside(request)
    if (all > limits.promptTokens * PromptBound.charactersPerToken)
      return noRoom(all > text.length ? "messages, calls and tools" : "messages", all, limits.promptTokens)
    const limit = Math.min(sequenceLimit, limits.promptTokens)
    if (tokenizer === undefined)
      return text.length > limit * PromptBound.charactersPerToken ? noRoom("messages", text.length, limit) : Effect.void
    const most = Math.min(limit, contextsOfText * contextLength)
    return Effect.flatMap(PromptBound.exceeds(tokenizer, text, most), (isTooLong) => {
      if (!isTooLong) return Effect.void
      return most === limit ? noRoom("messages", text.length, limit) : beyondContext(text.length, contextLength)
    })
  })
