/**
 * Text to token ids and back, and chats to prompts. Layers: a Hugging Face tokenizer (hub id or local folder), or bytes.
 *
 * All operations are pure and synchronous once the layer is built; a prompt of some thousand tokens takes about a millisecond.
 */
import { Context, Schema } from "effect"
import type { Message } from "./Message.ts"

export class TokenizerError extends Schema.TaggedError<TokenizerError>()("TokenizerError", {
  tokenizer: Schema.String,
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

export interface ChatTemplateOptions {
  /** Ends the prompt with the assistant's opening, so that the model answers. */
  readonly addGenerationPrompt: boolean
  /** OpenAI tool definitions for templates that list them. */
  readonly tools?: ReadonlyArray<unknown>
}

export interface TokenizerShape {
  /** Hub id, folder or `"bytes"`. */
  readonly name: string
  readonly vocabularySize: number
  readonly bosTokenId: number | undefined
  readonly eosTokenId: number | undefined
  readonly encode: (text: string, options?: { readonly addSpecialTokens?: boolean }) => ReadonlyArray<number>
  readonly decode: (ids: ArrayLike<number>, options?: { readonly skipSpecialTokens?: boolean }) => string
  /** The prompt text of a chat. Throws `TokenizerError` as a defect where the tokenizer has no chat template. */
  readonly applyChatTemplate: (messages: ReadonlyArray<Message>, options: ChatTemplateOptions) => string
}

export class Tokenizer extends Context.Service<Tokenizer, TokenizerShape>()("@atropos/core/Tokenizer") {}
