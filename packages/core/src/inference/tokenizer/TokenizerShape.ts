/** Interface of a tokenizer. All operations are pure and synchronous. */
import type { Message } from "../../trajectory/Message.ts"

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
  /** Tokens as written in the vocabulary, with their ids. Absent if the name determines everything. */
  readonly vocabulary?: () => ReadonlyMap<string, number>
  readonly bosTokenId: number | undefined
  readonly eosTokenId: number | undefined
  /**
   * Special tokens written out in `text` become their ids; `addSpecialTokens` (default true) adds those around a text,
   * such as a BOS.
   */
  readonly encode: (text: string, options?: { readonly addSpecialTokens?: boolean }) => ReadonlyArray<number>
  readonly decode: (ids: ArrayLike<number>, options?: { readonly skipSpecialTokens?: boolean }) => string
  /** The prompt text of a chat. Throws `TokenizerError` as a defect if the tokenizer has no chat template. */
  readonly applyChatTemplate: (messages: ReadonlyArray<Message>, options: ChatTemplateOptions) => string
  /** The source of the chat template for chats with or without tools; undefined if none. */
  readonly chatTemplate?: (options: { readonly tools: boolean }) => string | undefined
}
