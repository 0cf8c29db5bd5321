/**
 * Stores shared messages of chats once.
 *
 * Clients send the whole history with every request, and each is parsed into new strings. A chat that begins like a
 * recent one reuses that one's messages, so that each message is stored only once. Reused values are equal; if only the
 * text is equal, only the text is reused. Linear in the chat.
 */
import type { Message } from "../../trajectory/Message.ts"
import * as SameMessage from "../../inference/session/SameMessage.ts"

export interface SharedChats {
  /** Returns the same chat, with already stored messages if available. */
  readonly share: (messages: ReadonlyArray<Message>) => ReadonlyArray<Message>
  /** Stores a chat for later ones to share; replaces the one it begins with. */
  readonly keep: (messages: ReadonlyArray<Message>) => void
}

/** Concurrent conversations of a session; beyond these, only the most recent are shared. */
const max = 16

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
      kept = [...others, messages].slice(-max)
    }
  }
}

const commonLength = (chat: ReadonlyArray<Message>, messages: ReadonlyArray<Message>): number => {
  const end = Math.min(chat.length, messages.length)
  let at = 0
  while (at < end && areAlike(chat[at]!, messages[at]!)) at++
  return at
}

/** True if the text is equal; clients may omit other fields. */
const areAlike = (a: Message, b: Message): boolean =>
  a === b || (a.role === b.role && SameMessage.isSameJson(a.content ?? "", b.content ?? ""))

const taken = (known: Message, message: Message): Message => {
  if (SameMessage.isSameJson(known, message)) return known
  if (typeof message.content !== "string" || typeof known.content !== "string") return message
  return Object.assign({}, message, { content: known.content })
}
