/**
 * The optimizer's state on disk: a safetensors file of float32 with three tensors for each slot of the layout.
 *
 * `<slot>` is the parameter itself, unrounded; `exp_avg.<slot>` and `exp_avg_sq.<slot>` are AdamW's moments (PyTorch's names). Each
 * kind lies together in the layout's order, so that the file is three flat vectors with a head; the number of updates is in its
 * metadata. Reading gives back the same bits, and fails with the tensor's name where the layout is another.
 *
 * Format: https://huggingface.co/docs/safetensors (8 bytes of head length, JSON head, data).
 */
import { Effect, FileSystem, Option, Schema } from "effect"
import type { Layout } from "../model/Parameters.ts"
import type { Snapshot } from "../OptimizerThread.ts"
import * as CheckpointError from "./CheckpointError.ts"

const kinds = ["", "exp_avg.", "exp_avg_sq."] as const
const bytesPerFloat = 4

const Entry = Schema.Struct({
  dtype: Schema.String,
  shape: Schema.Array(Schema.Int),
  data_offsets: Schema.Tuple([Schema.Int, Schema.Int])
})
const Metadata = Schema.Struct({ updates: Schema.NumberFromString.pipe(Schema.check(Schema.isInt())) })
const decodeHead = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown)))
const decodeEntry = Schema.decodeUnknownOption(Entry)
const decodeMetadata = Schema.decodeUnknownOption(Metadata)

const entries = ({ size, slots }: Layout): ReadonlyArray<readonly [string, typeof Entry.Type]> =>
  kinds.flatMap((kind, index) =>
    slots.map(({ name, offset, shape, size: length }) => {
      const from = (index * size + offset) * bytesPerFloat
      return [`${kind}${name}`, { dtype: "F32", shape, data_offsets: [from, from + length * bytesPerFloat] }] as const
    })
  )

/** The head with its length, padded so that the data are aligned. */
const head = (layout: Layout, updates: number): Uint8Array => {
  const json = JSON.stringify({
    __metadata__: { format: "pt", updates: String(updates) },
    ...Object.fromEntries(entries(layout))
  })
  const text = new TextEncoder().encode(json)
  const length = Math.ceil(text.length / 8) * 8
  const bytes = new Uint8Array(8 + length).fill(0x20)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(length), true)
  bytes.set(text, 8)
  return bytes
}

const bytesOf = (values: Float32Array): Uint8Array =>
  new Uint8Array(values.buffer, values.byteOffset, values.byteLength)

export const write = Effect.fn("StateFile.write")(
  function* (path: string, layout: Layout, { firstMoment, parameters, secondMoment, updates }: Snapshot) {
    const fs = yield* FileSystem.FileSystem
    const file = yield* fs.open(path, { flag: "w" })
    yield* file.writeAll(head(layout, updates))
    for (const values of [parameters, firstMoment, secondMoment]) yield* file.writeAll(bytesOf(values))
    yield* file.sync
  },
  Effect.scoped,
  (written, path) => Effect.mapError(written, CheckpointError.at(path))
)

/** Reads `length` bytes; fails where the file ends before. */
const readBytes = Effect.fnUntraced(function* (file: FileSystem.File, path: string, position: number, length: number) {
  const bytes = new Uint8Array(length)
  let at = 0
  while (at < length) {
    const count = yield* file.read(bytes.subarray(at), { position: BigInt(position + at) })
    if (count === 0) {
      return yield* new CheckpointError.CheckpointError({
        path,
        reason: `ends after ${position + at} bytes, ${position + length} are needed: it is not complete`
      })
    }
    at += count
  }
  return bytes
})

/** What the file says a tensor is, or why it is not the one of the layout. */
const mismatch = (found: Option.Option<typeof Entry.Type>, wanted: typeof Entry.Type): string | undefined => {
  if (Option.isNone(found)) return "is missing"
  const { data_offsets, dtype, shape } = found.value
  if (dtype !== "F32") return `is ${dtype}, not F32`
  if (shape.join() !== wanted.shape.join())
    return `has shape [${shape.join()}], the model's is [${wanted.shape.join()}]`
  return data_offsets[0] === wanted.data_offsets[0] ? undefined : "lies elsewhere: the layout has another order"
}

export const read = Effect.fn("StateFile.read")(
  function* (path: string, layout: Layout) {
    const fs = yield* FileSystem.FileSystem
    const file = yield* fs.open(path, { flag: "r" })
    const fail = (reason: string) => new CheckpointError.CheckpointError({ path, reason })
    const length = Number(new DataView((yield* readBytes(file, path, 0, 8)).buffer).getBigUint64(0, true))
    const { size } = yield* file.stat
    if (length > Number(size)) return yield* fail(`has no head: its first bytes say ${length}`)
    const found = yield* decodeHead(new TextDecoder().decode(yield* readBytes(file, path, 8, length)))
    const { __metadata__, ...tensors } = found
    const metadata = decodeMetadata(__metadata__)
    if (Option.isNone(metadata)) return yield* fail("does not say the number of updates")
    const wanted = entries(layout)
    for (const [name, entry] of wanted) {
      const wrong = mismatch(decodeEntry(tensors[name]), entry)
      if (wrong !== undefined) return yield* fail(`tensor ${name} ${wrong}`)
    }
    if (Object.keys(tensors).length !== wanted.length) {
      const known = new Set(wanted.map(([name]) => name))
      return yield* fail(`tensor ${Object.keys(tensors).find((name) => !known.has(name))} is not part of the model`)
    }
    const vector = (index: number) =>
      Effect.map(
        readBytes(file, path, 8 + length + index * layout.size * bytesPerFloat, layout.size * bytesPerFloat),
        (bytes) => new Float32Array(bytes.buffer)
      )
    const snapshot: Snapshot = {
      parameters: yield* vector(0),
      firstMoment: yield* vector(1),
      secondMoment: yield* vector(2),
      updates: metadata.value.updates
    }
    return snapshot
  },
  Effect.scoped,
  (result, path) =>
    Effect.mapError(result, (error) =>
      error instanceof CheckpointError.CheckpointError ? error : CheckpointError.at(path)(error)
    )
)
