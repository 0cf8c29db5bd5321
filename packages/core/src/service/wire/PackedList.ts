/**
 * Encodes several packed groups in one body: "ATPL", version, bytes of index, number of groups, the index as JSON, the
 * groups.
 */
import { Result, Schema } from "effect"
import { failed, listMagic, PackedGroupError, preludeBytes, readPrelude, writePrelude } from "./PackedFrame.ts"
import * as JsonSpans from "./JsonSpans.ts"
import * as Sections from "./Sections.ts"

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** A packed group with the key it is submitted under, or the id it is handed out under. */
export interface KeyedBytes {
  readonly key: string
  readonly bytes: Uint8Array
}

const Index = Schema.Array(Schema.Struct({ key: Schema.String, bytes: Schema.Natural }))
const decodeIndex = Schema.decodeUnknownResult(Schema.fromJsonString(Index))

const padding = new Uint8Array(8)

/** The body's bytes in parts, to be written consecutively: the groups' own bytes are not copied. */
export const listParts = (items: ReadonlyArray<KeyedBytes>): ReadonlyArray<Uint8Array> => {
  const index = encoder.encode(JSON.stringify(items.map(({ bytes, key }) => ({ key, bytes: bytes.length }))))
  const head = new Uint8Array(Sections.align(preludeBytes + index.length))
  writePrelude(head, listMagic, index.length, items.length)
  head.set(index, preludeBytes)
  return [
    head,
    ...items.flatMap(({ bytes }) => {
      const missing = Sections.align(bytes.length) - bytes.length
      return missing === 0 ? [bytes] : [bytes, padding.subarray(0, missing)]
    })
  ]
}

export const encodeList = (items: ReadonlyArray<KeyedBytes>): Uint8Array => {
  const parts = listParts(items)
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let offset = 0
  for (const part of parts) {
    whole.set(part, offset)
    offset += part.length
  }
  return whole
}

/** The groups of a body, as undecoded views of it. */
export const decodeList = (bytes: Uint8Array): Result.Result<ReadonlyArray<KeyedBytes>, PackedGroupError> =>
  Result.gen(function* () {
    const { first: indexLength, second: count } = yield* readPrelude(bytes, listMagic, "a list of packed groups")
    if (preludeBytes + indexLength > bytes.length) {
      return yield* failed("index", `needs ${preludeBytes + indexLength} bytes, but only ${bytes.length} are present`)
    }
    const indexBytes = bytes.subarray(preludeBytes, preludeBytes + indexLength)
    if (JsonSpans.isTooDeep(indexBytes)) return yield* failed("index", "is nested too deeply")
    const index = yield* Result.mapError(
      decodeIndex(decoder.decode(indexBytes)),
      (error) => new PackedGroupError({ field: "index", message: error.message })
    )
    if (index.length !== count) {
      return yield* failed("index", `lists ${index.length} groups, but the prelude states ${count}`)
    }
    const items: Array<KeyedBytes> = []
    let offset = Sections.align(preludeBytes + indexLength)
    for (const [i, entry] of index.entries()) {
      const end = offset + entry.bytes
      if (end > bytes.length)
        return yield* failed(`index.${i}`, `needs ${end} bytes, but only ${bytes.length} are present`)
      items.push({ key: entry.key, bytes: bytes.subarray(offset, end) })
      offset = Sections.align(end)
    }
    return items
  })
