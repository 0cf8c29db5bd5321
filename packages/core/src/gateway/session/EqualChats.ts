/**
 * The recorded chats of conversations, by their digests. Several sessions may have the same chat: the client that
 * continues one is unknown, and any of them serves, since their messages are equal. What must not happen is that one
 * is continued twice while another waits, or that a rated one is continued by a conversation that it may not belong to.
 */
import type { OpenSession } from "./OpenSession.ts"

/** A chat that ends with an answer. Equal chats of one session are one, with the newest answer. */
export interface Chat {
  readonly digest: string
  readonly session: OpenSession
  /** The id of the answer. */
  readonly answer: string
  /** True if a request has continued it. */
  isContinued: boolean
  isRated: boolean
}

interface Kept extends Pick<Chat, "digest" | "session" | "answer"> {
  /** Digest of the answer's message alone. */
  readonly quote: string
}

export interface Continued {
  readonly session: OpenSession
  /** The request failed. */
  readonly undo: () => void
}

export interface EqualChats {
  /**
   * The session that a request continues; undefined if none. `chain`: digests of its chat up to each message; `quoted`:
   * digests of its answers alone, by the same places.
   */
  readonly continued: (chain: ReadonlyArray<string>, quoted: ReadonlyArray<string | undefined>) => Continued | undefined
  readonly keep: (chat: Kept) => Chat
  /** The equal chat that a reward of this one is for; undefined if it cannot be known. */
  readonly rated: (chat: Chat) => Chat | undefined
  readonly forget: (session: OpenSession) => void
}

const chosen = (chats: ReadonlyArray<Chat>): Chat => {
  const free = chats.filter(({ isContinued }) => !isContinued)
  const unrated = free.find(({ isRated }) => !isRated)
  // One of several that was rated keeps its reward for itself.
  return unrated ?? (chats.length === 1 ? chats[0] : chats.findLast(({ isContinued }) => isContinued)) ?? chats[0]!
}

export const make = (): EqualChats => {
  const byDigest = new Map<string, Array<Chat>>()
  const bySession = new Map<OpenSession, { readonly digests: Set<string>; readonly quotes: Set<string> }>()

  /** A rewritten history belongs to the session that has most of its answers. */
  const rewritten = (chats: ReadonlyArray<Chat>, quotes: ReadonlyArray<string>): Chat => {
    const known = ({ session }: Chat) => quotes.filter((quote) => bySession.get(session)?.quotes.has(quote)).length
    return chats.toReversed().toSorted((a, b) => known(b) - known(a))[0]!
  }

  return {
    continued: (chain, quoted) => {
      const at = chain.findLastIndex((digest) => byDigest.has(digest))
      const chats = byDigest.get(chain[at] ?? "")
      if (chats === undefined) return undefined
      const quotes = quoted.slice(at + 1, -1).filter((one) => one !== undefined)
      const chat = quotes.length > 0 ? rewritten(chats, quotes) : chosen(chats)
      const wasContinued = chat.isContinued
      chat.isContinued = true
      return { session: chat.session, undo: () => void (chat.isContinued = wasContinued) }
    },
    keep: ({ answer, digest, quote, session }) => {
      const chats = byDigest.get(digest) ?? []
      byDigest.set(digest, chats)
      const own = bySession.get(session) ?? { digests: new Set(), quotes: new Set() }
      bySession.set(session, own)
      own.digests.add(digest)
      own.quotes.add(quote)
      const chat: Chat = { digest, session, answer, isContinued: false, isRated: false }
      const same = chats.find((one) => one.session === session)
      if (same === undefined) chats.push(chat)
      return same ?? chat
    },
    rated: (chat) => {
      const chats = byDigest.get(chat.digest) ?? []
      return chat.isContinued && chats.length > 1
        ? chats.find(({ isContinued, isRated }) => !isContinued && !isRated)
        : chat
    },
    forget: (session) => {
      for (const digest of bySession.get(session)?.digests ?? []) {
        const others = byDigest.get(digest)?.filter((one) => one.session !== session) ?? []
        if (others.length === 0) byDigest.delete(digest)
        else byDigest.set(digest, others)
      }
      bySession.delete(session)
    }
  }
}
