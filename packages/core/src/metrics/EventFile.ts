/**
 * Encodes TensorBoard's event files: TFRecords of protobuf events.
 *
 * A record is `length u64 | masked crc of length u32 | bytes | masked crc of bytes u32`, little-endian
 * (tensorflow/core/lib/io/record_writer.h); an event has a time, a step and one summary value
 * (tensorflow/core/util/event.proto, summary.proto): a scalar, or texts for the plugin "text", which renders Markdown.
 */
import { BinaryWriter, FLOAT32_MAX, WireType } from "#protobuf-wire"

/** CRC-32C (Castagnoli, RFC 3720 appendix B.4), and its masked form, which TFRecords use. */
const polynomial = 0x82f63b78

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ polynomial : value >>> 1
  return value
})

export const crc32c = (bytes: Uint8Array): number => {
  let value = 0xffffffff
  for (const byte of bytes) value = table[(value ^ byte) & 0xff]! ^ (value >>> 8)
  return (value ^ 0xffffffff) >>> 0
}

/** Rotated right by 15 and offset, so that checksums of data with embedded checksums stay useful. */
export const masked = (checksum: number): number => (((checksum >>> 15) | (checksum << 17)) + 0xa282ead8) >>> 0

export type Value = { readonly scalar: number } | { readonly texts: ReadonlyArray<string> }

export interface Event {
  /** Seconds since the epoch. */
  readonly wallTime: number
  readonly step: number
  readonly tag: string
  readonly value: Value
}

export const record = (bytes: Uint8Array): Uint8Array => {
  const whole = new Uint8Array(bytes.length + 16)
  const view = new DataView(whole.buffer)
  view.setBigUint64(0, BigInt(bytes.length), true)
  view.setUint32(8, masked(crc32c(whole.subarray(0, 8))), true)
  whole.set(bytes, 12)
  view.setUint32(12 + bytes.length, masked(crc32c(bytes)), true)
  return whole
}

/** The first record of a file. */
export const head = (wallTime: number): Uint8Array =>
  record(
    new BinaryWriter()
      .tag(1, WireType.Bit64)
      .double(wallTime)
      .tag(3, WireType.LengthDelimited)
      .string("brain.Event:2")
      .finish()
  )

export const encode = ({ step, tag, value, wallTime }: Event): Uint8Array => {
  const writer = new BinaryWriter()
  writer.tag(1, WireType.Bit64).double(wallTime)
  writer.tag(2, WireType.Varint).int64(step)
  // Event.summary, Summary.value, Value.tag
  writer.tag(5, WireType.LengthDelimited).fork()
  writer.tag(1, WireType.LengthDelimited).fork()
  writer.tag(1, WireType.LengthDelimited).string(tag)
  if ("scalar" in value) writer.tag(2, WireType.Bit32).float(float32(value.scalar))
  else writeTexts(writer, value.texts)
  writer.join().join()
  return record(writer.finish())
}

/** Clamps finite numbers to the 32-bit range; infinities and NaN are kept. */
const float32 = (value: number): number =>
  Number.isFinite(value) ? Math.max(-FLOAT32_MAX, Math.min(FLOAT32_MAX, value)) : value

const stringType = 7
const tensorClass = 2

/** A vector of texts: `metadata` names the plugin, `tensor` contains them. */
const writeTexts = (writer: BinaryWriter, texts: ReadonlyArray<string>): void => {
  writer.tag(9, WireType.LengthDelimited).fork()
  writer.tag(1, WireType.LengthDelimited).fork()
  writer.tag(1, WireType.LengthDelimited).string("text")
  writer.join()
  writer.tag(4, WireType.Varint).int32(tensorClass)
  writer.join()
  writer.tag(8, WireType.LengthDelimited).fork()
  writer.tag(1, WireType.Varint).int32(stringType)
  // TensorShapeProto.dim, Dim.size
  writer.tag(2, WireType.LengthDelimited).fork()
  writer.tag(2, WireType.LengthDelimited).fork()
  writer.tag(1, WireType.Varint).int64(texts.length)
  writer.join().join()
  for (const text of texts) writer.tag(8, WireType.LengthDelimited).string(text)
  writer.join()
}
