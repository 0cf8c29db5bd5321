/**
 * The chat that a session's model is shown, where it differs from what the client sent: pictures for a model without
 * them become a line of text, and roles are those of the chat template (`TemplateRoles`). It depends only on the
 * messages up to the next answer, so a chat that extends another is shown as its extension.
 */
import { Effect } from "effect"
import type { ChatRequest } from "../../inference/wire/Inference.ts"
import * as TemplateRoles from "../../inference/TemplateRoles.ts"
import type { TokenizerShape } from "../../inference/tokenizer/Tokenizer.ts"
import type { ContentPart, Message } from "../../trajectory/Message.ts"
import * as Normalize from "../dialect/Normalize.ts"

export interface Shown {
  readonly messages: ReadonlyArray<Message>
  /** Names of the changes; empty if it is shown as sent. */
  readonly changes: ReadonlyArray<string>
}

const withoutPicture: ContentPart = { type: "text", text: "[An image, which this model cannot see.]" }

const isText = ({ type }: ContentPart): boolean => type === "text"

const hasPicture = ({ content }: Message): boolean => Array.isArray(content) && !content.every(isText)

const inWords = (message: Message): Message =>
  hasPicture(message) && Array.isArray(message.content)
    ? Object.assign({}, message, {
        content: Normalize.content(message.content.map((part) => (isText(part) ? part : withoutPicture)))
      })
    : message

export interface Options {
  /** Absent if only the server renders chats. */
  readonly tokenizer: TokenizerShape | undefined
  readonly takesPictures: boolean
}

export const of = (
  { takesPictures, tokenizer }: Options,
  { messages, tools = [] }: Pick<ChatRequest, "messages" | "tools">
): Effect.Effect<Shown> =>
  Effect.suspend(() => {
    const isPictured = !takesPictures && messages.some(hasPicture)
    const inText = isPictured ? messages.map(inWords) : messages
    const changes = isPictured ? ["image_as_text"] : []
    return tokenizer === undefined
      ? Effect.succeed({ messages: inText, changes })
      : Effect.map(TemplateRoles.of(tokenizer, inText, tools), (adapted) => ({
          messages: adapted.messages,
          changes: [...changes, ...adapted.changes]
        }))
  })
