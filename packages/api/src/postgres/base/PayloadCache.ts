/**
 * Caches payloads of queued groups, so that a claim in the same process need not read and decompress what was just
 * sent. The queue is FIFO: a full cache rejects new payloads and keeps the old ones, which are needed next. Payloads
 * never change, so entries are always valid.
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
      // A view keeps its whole underlying buffer in memory.
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
