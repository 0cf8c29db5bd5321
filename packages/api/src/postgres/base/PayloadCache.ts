/**
 * Payloads of queued groups in memory, so that a claim in the same process need not read and decompress what was just
 * sent.
 *
 * The queue is first in, first out: when the cache is full the new ones stay out and the old ones, whose turn is next,
 * stay in. A group's payload never changes, so an entry is always right.
 */
import type { Payload } from "../../store/TrajectoryStore.ts"

export interface PayloadCache {
  readonly add: (id: string, payload: Payload) => void
  readonly get: (id: string) => Payload | undefined
  readonly remove: (id: string) => void
  readonly clear: () => void
}

export const make = (maxBytes: number): PayloadCache => {
  const payloads = new Map<string, Payload>()
  let bytes = 0
  return {
    add: (id, payload) => {
      // A view of a larger buffer would keep all of it in memory.
      const held = payload.bytes.buffer.byteLength
      if (bytes + held > maxBytes || payloads.has(id)) return
      payloads.set(id, payload)
      bytes += held
    },
    get: (id) => payloads.get(id),
    remove: (id) => {
      const payload = payloads.get(id)
      if (payload === undefined) return
      payloads.delete(id)
      bytes -= payload.bytes.buffer.byteLength
    },
    clear: () => {
      payloads.clear()
      bytes = 0
    }
  }
}
