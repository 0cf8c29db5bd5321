/**
 * Chat messages, in the form that inference servers and chat templates use.
 *
 * Field names are OpenAI's (`tool_calls`, `image_url`, `reasoning_content`), internally and on the wire: a message is
 * passed unchanged to the server, the chat template and the trainer. Unknown keys are preserved.
 */
import { Schema } from "effect"

/** A call requested by the model; `arguments` is JSON text exactly as the model wrote it. */
export const ToolCall = Schema.StructWithRest(
  Schema.Struct({
    id: Schema.optionalKey(Schema.String),
    type: Schema.optionalKey(Schema.String),
    function: Schema.StructWithRest(Schema.Struct({ name: Schema.String, arguments: Schema.String }), [
      Schema.Record(Schema.String, Schema.Unknown)
    ])
  }),
  [Schema.Record(Schema.String, Schema.Unknown)]
)
export type ToolCall = typeof ToolCall.Type

/**
 * One part of a multimodal message: `{ type: "text", text }`, `{ type: "image_url", image_url: { url } }` (https or
 * data URL), or a server-specific type.
 */
export const ContentPart = Schema.StructWithRest(
  Schema.Struct({
    type: Schema.String,
    text: Schema.optionalKey(Schema.String),
    image_url: Schema.optionalKey(Schema.Unknown)
  }),
  [Schema.Record(Schema.String, Schema.Unknown)]
)
export type ContentPart = typeof ContentPart.Type

/** A turn of a chat. `role` is usually system, user, assistant or tool; environments may use others. */
export interface Message {
  readonly role: string
  readonly content: string | null | ReadonlyArray<ContentPart>
  readonly tool_calls?: ReadonlyArray<ToolCall>
  readonly tool_call_id?: string
  readonly name?: string
  readonly reasoning_content?: string | null
  readonly reward?: number | null
  readonly [key: string]: unknown
}

export const Message: Schema.Codec<Message> = Schema.StructWithRest(
  Schema.Struct({
    role: Schema.String,
    content: Schema.Union([Schema.String, Schema.Null, Schema.Array(ContentPart)]),
    tool_calls: Schema.optionalKey(Schema.Array(ToolCall)),
    tool_call_id: Schema.optionalKey(Schema.String),
    name: Schema.optionalKey(Schema.String),
    reasoning_content: Schema.optionalKey(Schema.NullOr(Schema.String)),
    reward: Schema.optionalKey(Schema.NullOr(Schema.Finite))
  }),
  [Schema.Record(Schema.String, Schema.Unknown)]
)

export const system = (content: string): Message => ({ role: "system", content })
export const user = (content: string | ReadonlyArray<ContentPart>): Message => ({ role: "user", content })
export const assistant = (content: string): Message => ({ role: "assistant", content })

/** The text of a message: its string content, or the text parts joined; empty if none. */
export const text = ({ content }: Message): string =>
  typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join("")

/** True if the content has parts other than text: pictures, audio, files. */
export const hasMedia = ({ content }: Message): boolean =>
  Array.isArray(content) && content.some((part: ContentPart | null) => part?.type !== "text")
