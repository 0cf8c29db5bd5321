/**
 * Encodes the spool's file format: frames (length, CRC-32, payload), the first of which names the lineage; every other
 * contains one group: the length of its head, the head as JSON, the packed group.
 */
import { crc32 } from "node:zlib"
import { Effect, Schema } from "effect"
import * as PackedGroup from "../../service/PackedGroup.ts"
import type { Delivery } from "./Delivery.ts"
import { damaged, type SpoolError } from "./SpoolError.ts"

/** A delivery; `closes` if its item has nothing outstanding other than spooled groups. */
export interface Spooled {
  readonly delivery: Delivery
  readonly closes: boolean
}

const Head = Schema.fromJsonString(Schema.Struct({ index: Schema.Natural, key: Schema.String, closes: Schema.Boolean }))
const Lineage = Schema.fromJsonString(Schema.Struct({ lineage: Schema.String }))
const decodeHead = Schema.decodeUnknownEffect(Head)
const decodeLineage = Schema.decodeUnknownEffect(Lineage)

const frameBytes = 8
const text = new TextEncoder()
const characters = new TextDecoder()

export const lineage = (lineage: string): Uint8Array => text.encode(JSON.stringify({ lineage }))

export const lineageOf = (payload: Uint8Array, file: string): Effect.Effect<string, SpoolError> =>
  decodeLineage(characters.decode(payload)).pipe(
    Effect.mapBoth({ onSuccess: ({ lineage }) => lineage, onFailure: damaged(file) })
  )

export const encode = ({ closes, delivery }: Spooled): Uint8Array => {
  const head = text.encode(JSON.stringify({ index: delivery.index, key: delivery.key, closes }))
  const group = PackedGroup.encode(delivery.group)
  const record = new Uint8Array(4 + head.byteLength + group.byteLength)
  new DataView(record.buffer).setUint32(0, head.byteLength, true)
  record.set(head, 4)
  record.set(group, 4 + head.byteLength)
  return record
}

const headLength = (record: Uint8Array): number =>
  new DataView(record.buffer, record.byteOffset, record.byteLength).getUint32(0, true)

export const headOf = (record: Uint8Array, error: (cause: unknown) => SpoolError) =>
  Effect.mapError(decodeHead(characters.decode(record.subarray(4, 4 + headLength(record)))), error)

export const decode = Effect.fnUntraced(function* (record: Uint8Array, file: string) {
  const { index, key } = yield* headOf(record, damaged(file, `corrupt record in ${file}`))
  // A copy (a Buffer's `slice` is a view), so that the group's arrays, which are views, are aligned and do not keep the
  // whole file in memory.
  const bytes = new Uint8Array(record.subarray(4 + headLength(record)))
  const group = yield* Effect.fromResult(PackedGroup.decode(bytes)).pipe(
    Effect.mapError(damaged(file, `corrupt group ${key} in ${file}`))
  )
  const delivery: Delivery = { index, key, group }
  return delivery
})

export const frame = (payloads: ReadonlyArray<Uint8Array>): Uint8Array => {
  const bytes = new Uint8Array(payloads.reduce((sum, payload) => sum + frameBytes + payload.byteLength, 0))
  const view = new DataView(bytes.buffer)
  let at = 0
  for (const payload of payloads) {
    view.setUint32(at, payload.byteLength, true)
    view.setUint32(at + 4, crc32(payload), true)
    bytes.set(payload, at + frameBytes)
    at += frameBytes + payload.byteLength
  }
  return bytes
}

/** The payloads of a file; anything after the first torn one was never acknowledged. */
export const payloadsOf = (content: Uint8Array): ReadonlyArray<Uint8Array> => {
  const payloads: Array<Uint8Array> = []
  const view = new DataView(content.buffer, content.byteOffset, content.byteLength)
  let at = 0
  while (at + frameBytes <= content.byteLength) {
    const length = view.getUint32(at, true)
    const payload = content.subarray(at + frameBytes, at + frameBytes + length)
    if (payload.byteLength < length || crc32(payload) !== view.getUint32(at + 4, true)) break
    payloads.push(payload)
    at += frameBytes + length
  }
  return payloads
}
