/**
 * Chat messages, in the shape inference servers and chat templates take them.
 *
 * Field names are OpenAI's own (`tool_calls`, `image_url`, `reasoning_content`), inside and on the wire: a message goes
 * to the server, to the chat template and to the trainer as it is. Keys this schema does not know are kept untouched.
 */
import { Schema } from "effect"

/** A call the model asked for; `arguments` is JSON text, as the model wrote it. */
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
 * One piece of a multimodal message: `{ type: "text", text }`, `{ type: "image_url", image_url: { url } }` (https or
 * data URL), or a kind of the server's own.
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

/** A turn of a chat. `role` is usually system, user, assistant or tool; environments may name others. */
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

/** The words of a message: its string content, or the text parts joined; empty when there are none. */
export const text = ({ content }: Message): string =>
  typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join("")
