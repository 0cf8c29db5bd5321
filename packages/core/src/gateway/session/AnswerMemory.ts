/** Earlier answers of a session by their ids, the newest so many of them. */
import type { Memory } from "../dialect/Dialect.ts"
import type { Message } from "../../Message.ts"

interface Kept {
  readonly messages: ReadonlyArray<Message>
  readonly stored: unknown
}

export const make = (most: number): Memory => {
  const kept = new Map<string, Kept>()
  return {
    recall: (id) => kept.get(id)?.messages,
    remember: (id, messages, stored) => {
      kept.set(id, { messages, stored })
      if (kept.size <= most) return
      // A map goes through its keys as they came.
      for (const oldest of kept.keys()) {
        kept.delete(oldest)
        break
      }
    },
    stored: (id) => kept.get(id)?.stored,
    forget: (id) => kept.delete(id)
  }
}
