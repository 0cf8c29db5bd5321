/** Stores the newest answers of a session by id. */
import type { Memory } from "../dialect/Dialect.ts"
import type { Message } from "../../trajectory/Message.ts"
import * as SameMessage from "../../inference/session/SameMessage.ts"

interface Kept {
  readonly messages: ReadonlyArray<Message>
  readonly stored: unknown
}

/** Max interned values: tools and instructions of several agents per session. */
const maxValues = 32

export const make = (max: number): Memory => {
  const values: Array<unknown> = []
  const kept = new Map<string, Kept>()
  return {
    recall: (id) => kept.get(id)?.messages,
    remember: (id, messages, stored) => {
      kept.set(id, { messages, stored })
      if (kept.size <= max) return
      // A Map iterates in insertion order.
      for (const oldest of kept.keys()) {
        kept.delete(oldest)
        break
      }
    },
    stored: (id) => kept.get(id)?.stored,
    forget: (id) => kept.delete(id),
    same: <A>(value: A): A => {
      const known = values.findIndex((one) => SameMessage.isSameJson(one, value))
      // Equal JSON has the same type.
      if (known >= 0) return values[known] as A
      values.push(value)
      if (values.length > maxValues) values.shift()
      return value
    }
  }
}
