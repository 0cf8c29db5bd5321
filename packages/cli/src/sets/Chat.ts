/** Chats in two parts: what the model was given, and what it wrote (from its first turn on). */
import { Message } from "@atropos/core"

type Chat = ReadonlyArray<Message.Message>

const roles: { readonly [role: string]: string } = {
  agent: "assistant",
  gpt: "assistant",
  human: "user",
  environment: "user"
}

/** The name that chat templates have for a role: `agent` is the assistant, `environment` the user. */
export const roleOf = ({ role }: Message.Message): string => roles[role] ?? role

export const isAssistant = (message: Message.Message): boolean => roleOf(message) === "assistant"

/** Up to the last turn that the model wrote: nothing is learned from what came behind it. */
export const untilLastTurn = (chat: Chat): Chat => chat.slice(0, chat.findLastIndex(isAssistant) + 1)

/** Environments may write anything for a content: what is neither words nor parts is written out. */
const contentOf = (content: unknown): Message.Message["content"] =>
  typeof content === "string" || Array.isArray(content) || content === null || content === undefined
    ? (content ?? null)
    : JSON.stringify(content)

/** What data sets keep of a message: the keys that chat templates know, under their names. */
export const plain = (message: Message.Message): Message.Message => {
  const { name, reasoning_content: reasoning, tool_call_id: callId, tool_calls: calls } = message
  return {
    role: roleOf(message),
    content: contentOf(message.content),
    // Null stands for nothing in what Python wrote.
    ...(Array.isArray(calls) && calls.length > 0 && { tool_calls: calls }),
    ...(typeof callId === "string" && { tool_call_id: callId }),
    ...(typeof name === "string" && { name }),
    ...(typeof reasoning === "string" && { reasoning_content: reasoning })
  }
}

/** How many messages two chats have in common at their beginning. */
export const commonLength = (a: Chat, b: Chat): number => {
  let length = 0
  while (length < Math.min(a.length, b.length) && isSame(a[length]!, b[length]!)) length++
  return length
}

const isSame = (a: Message.Message, b: Message.Message): boolean =>
  JSON.stringify(plain(a)) === JSON.stringify(plain(b))

/** Whether both chats go on, behind what they have in common, with a turn of the model's. */
export const divergeInTurn = (a: Chat, b: Chat, length: number): boolean =>
  length < a.length && length < b.length && isAssistant(a[length]!) && isAssistant(b[length]!)
