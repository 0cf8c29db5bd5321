/**
 * Reads and writes safetensors files (https://huggingface.co/docs/safetensors): 8 bytes of header length, a JSON header
 * of names with type, shape and offsets, then the data. Headers are untrusted: lengths, offsets and sizes are checked
 * first.
 */
import * as Nesting from "@atropos/core/base/json/Nesting"
import { Effect, FileSystem, Option, Schema } from "effect"
import type { PlatformError } from "effect/PlatformError"
import { ModelError, unwritten } from "./ModelError.ts"

export type SafetensorsType = "F32" | "F16" | "BF16" | "F64" | "I64" | "I32" | "I16" | "I8" | "U8" | "BOOL"

const sizes: { readonly [Type in SafetensorsType]: number } = {
  F32: 4,
  F16: 2,
  BF16: 2,
  F64: 8,
  I64: 8,
  I32: 4,
  I16: 2,
  I8: 1,
  U8: 1,
  BOOL: 1
}

export interface Entry {
  readonly dtype: SafetensorsType
  readonly shape: ReadonlyArray<number>
  readonly file: string
  /** Bytes from the start of the file. */
  readonly offset: number
  readonly length: number
}

/** Max header size of the format. */
const maxHeaderBytes = 100_000_000

/** Three per tensor; no model has this many. */
const maxOpened = 3_000_000

const RawEntry = Schema.Struct({
  dtype: Schema.String,
  shape: Schema.Array(Schema.Natural),
  data_offsets: Schema.Tuple([Schema.Natural, Schema.Natural])
})
const decodeHead = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown)))
const decodeEntry = Schema.decodeUnknownOption(RawEntry)

const isType = (name: string): name is SafetensorsType => Object.hasOwn(sizes, name)

export interface Head {
  readonly tensors: ReadonlyMap<string, Entry>
  readonly metadata: { readonly [name: string]: unknown }
}

export const readBytes = Effect.fnUntraced(function* (path: string, position: number, length: number) {
  const fs = yield* FileSystem.FileSystem
  const file = yield* fs.open(path, { flag: "r" })
  const bytes = new Uint8Array(length)
  let at = 0
  while (at < length) {
    const count = yield* file.read(bytes.subarray(at), { position: BigInt(position + at) })
    if (count === 0) break
    at += count
  }
  if (at < length) {
    return yield* new ModelError({
      reason: "damaged",
      model: path,
      message: `${path} ends after ${position + at} bytes, ${position + length} are needed: incomplete file`
    })
  }
  return bytes
}, Effect.scoped)

const unreadable = (path: string) => (cause: ModelError | { readonly message: string }) =>
  cause instanceof ModelError
    ? cause
    : new ModelError({ reason: "missing", model: path, message: `${path} cannot be read: ${cause.message}`, cause })

export const head = Effect.fn("Safetensors.head")(
  function* (path: string) {
    const fs = yield* FileSystem.FileSystem
    const damaged = (message: string) =>
      new ModelError({ reason: "damaged", model: path, message: `${path} is not a safetensors file: ${message}` })
    const fileSize = Number((yield* fs.stat(path)).size)
    if (fileSize < 8) return yield* damaged(`it has ${fileSize} bytes`)
    const headLength = Number(new DataView((yield* readBytes(path, 0, 8)).buffer).getBigUint64(0, true))
    if (headLength > maxHeaderBytes || headLength > fileSize - 8) {
      return yield* damaged(`its header length is ${headLength} bytes, but the file has ${fileSize}`)
    }
    const text = new TextDecoder().decode(yield* readBytes(path, 8, headLength))
    if (Nesting.exceeds(text, { levels: 5, opened: maxOpened }))
      return yield* damaged("its header is not a list of tensors")
    const raw = decodeHead(text)
    if (Option.isNone(raw)) return yield* damaged("its header is not a JSON object")
    const { __metadata__ = {}, ...entries } = raw.value
    const start = 8 + headLength
    const tensors = new Map<string, Entry>()
    for (const [name, value] of Object.entries(entries)) {
      const entry = Option.getOrUndefined(decodeEntry(value))
      if (entry === undefined) return yield* damaged(`the entry of ${name} lacks dtype, shape or offsets`)
      const { data_offsets, dtype, shape } = entry
      const [from, to] = data_offsets
      if (!isType(dtype)) return yield* damaged(`${name} has the unknown dtype ${dtype}`)
      const length = shape.reduce((product, dim) => product * dim, sizes[dtype])
      if (to - from !== length) {
        return yield* damaged(
          `${name} [${shape.join(", ")}] ${dtype} needs ${length} bytes, but its offsets span ${to - from}`
        )
      }
      if (start + to > fileSize) {
        return yield* damaged(`${name} ends at byte ${start + to}, but the file has ${fileSize}: incomplete file`)
      }
      tensors.set(name, { dtype, shape, file: path, offset: start + from, length })
    }
    const places = [...tensors.values()].sort((a, b) => a.offset - b.offset || a.length - b.length)
    const overlap = places.find(
      (entry, index) => index > 0 && places[index - 1]!.offset + places[index - 1]!.length > entry.offset
    )
    if (overlap !== undefined) return yield* damaged(`tensors overlap at byte ${overlap.offset}`)
    // An object or absent.
    return { tensors, metadata: __metadata__ as Head["metadata"] } satisfies Head
  },
  (effect, path) => Effect.mapError(effect, unreadable(path))
)

/** Elements converted before yielding to the event loop: a few milliseconds. */
const stretch = 1 << 20

/** Rounds floats to bfloat16, to nearest, ties to even; NaN stays NaN. */
export const toBfloat16 = (values: Float32Array): Uint16Array => {
  const words = new Uint32Array(values.buffer, values.byteOffset, values.length)
  const halves = new Uint16Array(words.length)
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!
    halves[at] = (word & 0x7fffffff) > 0x7f800000 ? (word >>> 16) | 0x40 : (word + 0x7fff + ((word >>> 16) & 1)) >>> 16
  }
  return halves
}

/** Rounds floats to the values they have as bfloat16. */
export const roundedToBfloat16 = (values: Float32Array): Float32Array =>
  new Float32Array(Uint32Array.from(toBfloat16(values), (half) => half << 16).buffer)

/** Value of a half float (IEEE 754 binary16). */
const halfValue = (half: number): number => {
  const sign = half & 0x8000 ? -1 : 1
  const exponent = (half >>> 10) & 0x1f
  const fraction = half & 0x3ff
  if (exponent === 0) return sign * 2 ** -24 * fraction
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN
  return sign * 2 ** (exponent - 25) * (1024 + fraction)
}

/** Converts stored values to floats, into `target`. */
const widen = (type: "F32" | "BF16" | "F16", bytes: Uint8Array<ArrayBuffer>, target: Float32Array): void => {
  if (type === "F32") {
    target.set(new Float32Array(bytes.buffer))
    return
  }
  const halves = new Uint16Array(bytes.buffer)
  if (type === "F16") {
    for (let at = 0; at < halves.length; at++) target[at] = halfValue(halves[at]!)
    return
  }
  const words = new Uint32Array(target.buffer, target.byteOffset, target.length)
  for (let at = 0; at < halves.length; at++) words[at] = halves[at]! << 16
}

/** Reads a tensor as floats; fails for other than floating-point types. */
export const floats = Effect.fn("Safetensors.floats")(
  function* ({ dtype, file, length, offset }: Entry) {
    if (dtype !== "F32" && dtype !== "BF16" && dtype !== "F16") {
      return yield* new ModelError({
        reason: "mismatch",
        model: file,
        message: `${file}: a tensor has dtype ${dtype}; F32, F16 or BF16 is needed`
      })
    }
    const size = sizes[dtype]
    const values = new Float32Array(length / size)
    for (let at = 0; at < values.length; at += stretch) {
      const target = values.subarray(at, at + stretch)
      widen(dtype, yield* readBytes(file, offset + at * size, target.length * size), target)
    }
    return values
  },
  (effect, { file }) => Effect.mapError(effect, unreadable(file))
)

/** Exponent bits: all ones for NaN or infinity. */
const notNumbers = { F32: 0x7f800000, BF16: 0x7f80, F16: 0x7c00 } as const

/** Index of the first NaN or infinite element of a floating-point tensor. */
export const firstNotFinite = Effect.fn("Safetensors.firstNotFinite")(
  function* ({ dtype, file, length, offset }: Entry) {
    if (dtype !== "F32" && dtype !== "BF16" && dtype !== "F16") return undefined
    const mask = notNumbers[dtype]
    const size = sizes[dtype]
    for (let from = 0; from < length; from += stretch * size) {
      const bytes = yield* readBytes(file, offset + from, Math.min(stretch * size, length - from))
      const words = size === 4 ? new Uint32Array(bytes.buffer) : new Uint16Array(bytes.buffer)
      for (let at = 0; at < words.length; at++) if ((words[at]! & mask) === mask) return from / size + at
    }
    return undefined
  },
  (effect, { file }) => Effect.mapError(effect, unreadable(file))
)

export interface Description {
  readonly name: string
  readonly dtype: SafetensorsType
  readonly shape: ReadonlyArray<number>
}

/** Header of a file: its length, and the JSON with the tensors' offsets in order, padded to eight bytes. */
const headBytes = (tensors: Iterable<Description>, metadata: { readonly [name: string]: string } = {}): Uint8Array => {
  let end = 0
  const entries = Array.from(tensors, ({ dtype, name, shape }) => {
    const from = end
    end += shape.reduce((product, dim) => product * dim, sizes[dtype])
    return [name, { dtype, shape, data_offsets: [from, end] }] as const
  })
  const text = new TextEncoder().encode(
    JSON.stringify({ __metadata__: { format: "pt", ...metadata }, ...Object.fromEntries(entries) })
  )
  const padded = new Uint8Array(8 + Math.ceil(text.length / 8) * 8).fill(0x20)
  new DataView(padded.buffer).setBigUint64(0, BigInt(padded.length - 8), true)
  padded.set(text, 8)
  return padded
}

/** Writes a file; `body` provides the tensors' bytes in order. Flushes it to disk. */
export const writeParts = Effect.fn("Safetensors.writeParts")(
  function* <E extends { readonly message: string }, R>(
    path: string,
    tensors: Iterable<Description>,
    body: (write: (bytes: Uint8Array) => Effect.Effect<void, PlatformError>) => Effect.Effect<void, E, R>
  ) {
    const fs = yield* FileSystem.FileSystem
    const file = yield* fs.open(path, { flag: "wx" })
    yield* file.writeAll(headBytes(tensors))
    yield* body((bytes) => file.writeAll(bytes))
    yield* file.sync
  },
  Effect.scoped,
  (effect, path) => Effect.mapError(effect, unwritten(path))
)

/** A tensor to be written: its values, or a function that computes them when needed. */
export interface Written {
  readonly name: string
  readonly shape: ReadonlyArray<number>
  readonly values: Float32Array | Effect.Effect<Float32Array, ModelError, FileSystem.FileSystem>
}

/** Writes tensors in order, atomically: to a temporary name until flushed to disk. */
export const write = Effect.fn("Safetensors.write")(
  function* (
    path: string,
    tensors: ReadonlyArray<Written>,
    type: "F32" | "BF16",
    metadata?: { readonly [name: string]: string }
  ) {
    const fs = yield* FileSystem.FileSystem
    const head = headBytes(
      tensors.map(({ name, shape }) => ({ name, shape, dtype: type })),
      metadata
    )
    const partial = `${path}.partial`
    yield* Effect.scoped(
      Effect.gen(function* () {
        const file = yield* fs.open(partial, { flag: "w" })
        yield* file.writeAll(head)
        for (const { values: input } of tensors) {
          const values = Effect.isEffect(input) ? yield* input : input
          for (let at = 0; at < values.length; at += stretch) {
            const part = values.subarray(at, at + stretch)
            const stored = type === "F32" ? part : toBfloat16(part)
            yield* file.writeAll(new Uint8Array(stored.buffer, stored.byteOffset, stored.byteLength))
          }
        }
        yield* file.sync
      })
    )
    yield* fs.rename(partial, path)
  },
  (effect, path) => Effect.mapError(effect, unwritten(path))
)
