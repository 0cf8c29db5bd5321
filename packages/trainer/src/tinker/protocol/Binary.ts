/** Encodes and decodes binary messages; malformed ones give a `WireError`. */
import { type DescMessage, fromBinary, ScalarType, type MessageShape, toBinary } from "@bufbuild/protobuf"
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire"
import { Effect } from "effect"
import { WireError } from "./WireError.ts"

/**
 * Counts nested messages and packed numbers at all depths; stops above `max`. Throws if the bytes are not a message.
 */
const partsOf = (desc: DescMessage, bytes: Uint8Array, max: number): number => {
  const fields = new Map(desc.fields.map((field) => [field.number, field]))
  const reader = new BinaryReader(bytes)
  let parts = 0
  while (reader.pos < reader.len && parts <= max) {
    const [number, type] = reader.tag()
    parts++
    if (type !== WireType.LengthDelimited) {
      reader.skip(type, number)
      continue
    }
    const inner = reader.bytes()
    const field = fields.get(number)
    if (field?.fieldKind === "message" || (field?.fieldKind === "list" && field.listKind === "message")) {
      parts += partsOf(field.message, inner, max - parts)
    } else if (field?.fieldKind === "list" && !isText(field.scalar)) parts += inner.length
    else if (field?.fieldKind === "map" && field.mapKind === "message") {
      // An entry is a key (1) and a value (2).
      parts += partsOfEntry(field.message, inner, max - parts)
    }
  }
  return parts
}

const partsOfEntry = (value: DescMessage, bytes: Uint8Array, max: number): number => {
  const reader = new BinaryReader(bytes)
  let parts = 0
  while (reader.pos < reader.len && parts <= max) {
    const [number, type] = reader.tag()
    parts++
    if (number === 2 && type === WireType.LengthDelimited) parts += partsOf(value, reader.bytes(), max - parts)
    else reader.skip(type, number)
  }
  return parts
}

/** Lists of strings and bytes are encoded by element, others packed. */
const isText = (scalar: ScalarType | undefined): boolean => scalar === ScalarType.STRING || scalar === ScalarType.BYTES

/**
 * Fails if a message has more parts than `max`, because each becomes an object of a hundred bytes. Bytes do not count.
 */
export const check = (
  schema: DescMessage,
  bytes: Uint8Array,
  what: string,
  max: number
): Effect.Effect<void, WireError> =>
  Effect.flatMap(
    Effect.try({
      try: () => partsOf(schema, bytes, max),
      catch: (cause) => new WireError({ message: `${what} of ${bytes.length} bytes cannot be read`, cause })
    }),
    (parts) =>
      parts > max
        ? Effect.fail(new WireError({ message: `${what} has more than ${max} parts: send fewer data per request` }))
        : Effect.void
  )

/** Fields of a message by name up to the first that cannot be read: small numbers, and bytes. */
export const scalars = (
  desc: DescMessage,
  bytes: Uint8Array
): Effect.Effect<{ readonly [name: string]: number | Uint8Array }> =>
  Effect.suspend(() => {
    const names = new Map(desc.fields.map(({ localName, number }) => [number, localName]))
    const found: Record<string, number | Uint8Array> = {}
    const read = Effect.try(() => {
      const reader = new BinaryReader(bytes)
      while (reader.pos < reader.len) {
        const [number, type] = reader.tag()
        const name = names.get(number)
        if (name !== undefined && type === WireType.Varint) found[name] = Number(reader.int64())
        else if (name !== undefined && type === WireType.LengthDelimited) found[name] = reader.bytes()
        else reader.skip(type, number)
      }
    })
    return Effect.as(Effect.ignore(read), found)
  })

/** Unknown fields are preserved. */
export const decode = <Desc extends DescMessage>(
  schema: Desc,
  bytes: Uint8Array,
  what: string
): Effect.Effect<MessageShape<Desc>, WireError> =>
  Effect.try({
    try: () => fromBinary(schema, bytes),
    catch: (cause) => new WireError({ message: `${what} of ${bytes.length} bytes cannot be read`, cause })
  })

export const encode = <Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): Uint8Array =>
  toBinary(schema, message)
