/** Splits chats into the given part and the part the model wrote (from its first turn on). */
import { Message } from "@atropos/core"
import { Predicate, Result } from "effect"
import * as ExactJson from "@atropos/core/base/json/ExactJson"
import * as Nesting from "@atropos/core/base/json/Nesting"

type Chat = ReadonlyArray<Message.Message>

const roles: { readonly [role: string]: string } = {
  agent: "assistant",
  gpt: "assistant",
  human: "user",
  environment: "user"
}

/** The role name used by chat templates: `agent` is the assistant, `environment` the user. */
export const roleOf = ({ role }: Message.Message): string => roles[role] ?? role

export const isAssistant = (message: Message.Message): boolean => roleOf(message) === "assistant"

/** The chat up to the model's last turn: later messages are not trained on. */
export const untilLastTurn = (chat: Chat): Chat => chat.slice(0, chat.findLastIndex(isAssistant) + 1)

const isTextPart = (part: unknown): part is { readonly text: string } =>
  Predicate.isReadonlyObject(part) &&
  part["type"] === "text" &&
  Predicate.isString(part["text"]) &&
  Object.keys(part).length === 2

/**
 * Parts that are all text become one text, as templates join them: `datasets` loads no column of both texts and lists.
 * Environments may use any content: values that are neither text nor parts become JSON.
 */
const contentOf = (content: unknown): Message.Message["content"] => {
  if (content === undefined || content === null) return null
  if (Array.isArray(content) && content.length > 0 && content.every(isTextPart)) {
    return content.map(({ text }) => text).join("")
  }
  return typeof content === "string" || Array.isArray(content) ? content : (ExactJson.write(content) ?? null)
}

/** The fields of a message kept in data sets: those chat templates know, under their names. */
export const plain = (message: Message.Message): Message.Message => {
  const { name, reasoning_content: reasoning, tool_call_id: callId, tool_calls: calls } = message
  return {
    role: roleOf(message),
    content: contentOf(message.content),
    // Python writes null for absent values.
    ...(Array.isArray(calls) && calls.length > 0 && { tool_calls: calls }),
    ...(typeof callId === "string" && { tool_call_id: callId }),
    ...(typeof name === "string" && { name }),
    ...(typeof reasoning === "string" && { reasoning_content: reasoning })
  }
}

/** The object of a call's arguments, with numbers as written; text that is no object is kept. */
const parsedArguments = (json: unknown): unknown => {
  if (typeof json !== "string" || Nesting.isDeep(json)) return json
  const value = json.trim() === "" ? {} : Result.getOrUndefined(Result.try(() => ExactJson.parseWritten(json)))
  return Predicate.isReadonlyObject(value) && !Array.isArray(value) ? value : json
}

/**
 * A message with the arguments of its calls as objects: Hugging Face's chat templates write JSON text as a string in
 * quotes.
 */
export const withObjects = (message: Message.Message): { readonly [key: string]: unknown } =>
  message.tool_calls === undefined
    ? message
    : Object.assign({}, message, {
        tool_calls: message.tool_calls.map((call) => ({
          ...call,
          function: { ...call.function, arguments: parsedArguments(call.function.arguments) }
        }))
      })

export const commonLength = (a: Chat, b: Chat): number => {
  let length = 0
  while (length < Math.min(a.length, b.length) && isSame(a[length]!, b[length]!)) length++
  return length
}

const isSame = (a: Message.Message, b: Message.Message): boolean =>
  JSON.stringify(plain(a)) === JSON.stringify(plain(b))

/** Returns true if both chats continue with a turn of the model after their common prefix. */
export const divergeInTurn = (a: Chat, b: Chat, length: number): boolean =>
  length < a.length && length < b.length && isAssistant(a[length]!) && isAssistant(b[length]!)
