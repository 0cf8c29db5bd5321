/**
 * Chats whose messages are kept once.
 *
 * Clients send the whole history with every request, and each time it is read into new texts. A chat that begins like
 * one of the newest takes over that one's messages, so that whatever keeps chats keeps each message a single time. What
 * is taken over says the same; where only the words are the same, the words are. Takes time linear in the chat.
 */
import type { Message } from "../../Message.ts"
import * as SameMessage from "../../inference/session/SameMessage.ts"

export interface SharedChats {
  /** The same chat, of messages that are kept already where there are some. */
  readonly share: (messages: ReadonlyArray<Message>) => ReadonlyArray<Message>
  /** Chats that go on from here are to share it; it takes the place of the one that it begins with. */
  readonly keep: (messages: ReadonlyArray<Message>) => void
}

/** Conversations that a session holds side by side; of more, those asked last are shared. */
const most = 16

export const make = (): SharedChats => {
  /** The newest last. */
  let kept: ReadonlyArray<ReadonlyArray<Message>> = []

  const nearest = (messages: ReadonlyArray<Message>): ReadonlyArray<Message> => {
    let best: ReadonlyArray<Message> = []
    let length = 0
    for (const chat of kept) {
      const common = commonLength(chat, messages)
      if (common < length || common === 0) continue
      best = chat
      length = common
    }
    return best
  }

  return {
    share: (messages) => {
      const known = nearest(messages)
      if (known.length === 0) return messages
      let isCommon = true
      return messages.map((message, at) => {
        const other = known[at]
        isCommon &&= other !== undefined && areAlike(other, message)
        return isCommon && other !== undefined ? taken(other, message) : message
      })
    },
    keep: (messages) => {
      const others = kept.filter(
        (chat) => chat.length > messages.length || !chat.every((one, at) => one === messages[at])
      )
      kept = [...others, messages].slice(-most)
    }
  }
}

const commonLength = (chat: ReadonlyArray<Message>, messages: ReadonlyArray<Message>): number => {
  const end = Math.min(chat.length, messages.length)
  let at = 0
  while (at < end && areAlike(chat[at]!, messages[at]!)) at++
  return at
}

/** Whether the words are the same; of what stands beside them a client may leave out some. */
const areAlike = (a: Message, b: Message): boolean =>
  a === b || (a.role === b.role && SameMessage.isSameJson(a.content ?? "", b.content ?? ""))

const taken = (known: Message, message: Message): Message => {
  if (SameMessage.isSameJson(known, message)) return known
  if (typeof message.content !== "string" || typeof known.content !== "string") return message
  return Object.assign({}, message, { content: known.content })
}
