/**
 * Groups on disk while the service is away: first in, first out, surviving a restart of the process.
 *
 * Segments of framed records (length, CRC-32, payload), each append synced before it is answered. A torn tail, as a
 * crash leaves it, ends its segment; a failed append is cut off again, so a full disk costs nothing that was written
 * before. A segment is deleted when all of it is delivered: after a crash some of it may be sent again, which the
 * groups' keys make harmless. The total is bounded. One process at a time appends to a segment; segments of a lineage
 * other than ours are left aside.
 */
import { crc32 } from "node:zlib"
import { Effect, FileSystem, Path, type PlatformError, Result, Schema, Semaphore } from "effect"
import * as Uuid from "../../base/Uuid.ts"
import * as PackedGroup from "../../service/PackedGroup.ts"
import type { Delivery } from "./Delivery.ts"

/** The spool cannot take or give groups: the disk is full, its limit is reached, or a file is damaged. */
export class SpoolError extends Schema.TaggedError<SpoolError>()("SpoolError", {
  path: Schema.String,
  message: Schema.String,
  /** Whether it is room that lacks. */
  isFull: Schema.Boolean,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

export interface SpoolOptions {
  readonly directory: string
  /** Bytes on disk that may not be exceeded. */
  readonly maxBytes: number
  /** Whose groups these are; see `Checkpoint`. */
  readonly lineage: string
  /** Bytes after which a segment is closed and the next one begun. */
  readonly segmentBytes?: number
}

/** A delivery, and whether nothing else of its item is outstanding beside what is spooled. */
export interface Spooled {
  readonly delivery: Delivery
  readonly closes: boolean
}

export interface Spool {
  /** All of them or none. */
  readonly append: (entries: ReadonlyArray<Spooled>) => Effect.Effect<void, SpoolError>
  /** The oldest deliveries, as many as one segment holds; empty when there are none. */
  readonly peek: Effect.Effect<ReadonlyArray<Delivery>, SpoolError>
  /** Forgets the oldest `count` of what `peek` gave. */
  readonly commit: (count: number) => Effect.Effect<void>
  /** Groups in the spool. */
  readonly size: () => number
  readonly bytes: () => number
  /** What an earlier process left: oldest first. */
  readonly recovered: ReadonlyArray<{ readonly index: number; readonly closes: boolean }>
}

interface Segment {
  readonly path: string
  bytes: number
  records: number
}

const RecordHeader = Schema.fromJsonString(
  Schema.Struct({ index: Schema.Natural, key: Schema.String, closes: Schema.Boolean })
)
const SegmentHeader = Schema.fromJsonString(Schema.Struct({ lineage: Schema.String }))
const decodeRecordHeader = Schema.decodeUnknownEffect(RecordHeader)
const decodeSegmentHeader = Schema.decodeUnknownEffect(SegmentHeader)

const extension = ".spool"
const frameBytes = 8
const text = new TextEncoder()
const characters = new TextDecoder()

/** Opens the spool of a folder, and takes over what lies in it. */
export const make = Effect.fn("Spool.make")(function* (options: SpoolOptions) {
  const { directory, lineage, maxBytes, segmentBytes = 16 * 1024 * 1024 } = options
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const lock = yield* Semaphore.make(1)
  const failing = (file: string) => (cause: PlatformError.PlatformError) =>
    new SpoolError({
      path: file,
      message: `cannot use the spool file ${file}: ${describe(cause)}. Free disk space or choose another spool folder`,
      isFull: isDiskFull(cause),
      cause
    })

  yield* fs.makeDirectory(directory, { recursive: true }).pipe(Effect.mapError(failing(directory)))
  const names = yield* fs.readDirectory(directory).pipe(Effect.mapError(failing(directory)))
  const segments: Array<Segment> = []
  const recovered: Array<{ readonly index: number; readonly closes: boolean }> = []
  let sequence = 0
  let open: Segment | undefined
  /** The next one, until something is in it. */
  let unused: Segment | undefined
  let head: { readonly segment: Segment; readonly deliveries: ReadonlyArray<Delivery>; taken: number } | undefined

  const readSegment = Effect.fnUntraced(function* (file: string) {
    const content = yield* fs.readFile(file).pipe(Effect.mapError(failing(file)))
    const [first, ...records] = frames(content)
    return { content, first, records }
  })
  const damaged = (file: string, cause: unknown) =>
    new SpoolError({
      path: file,
      message: `the spool file ${file} is damaged; it is left where it is`,
      isFull: false,
      cause
    })

  for (const name of names.filter((name) => name.endsWith(extension)).sort()) {
    const file = path.join(directory, name)
    sequence = Math.max(sequence, Number.parseInt(name, 10) || 0)
    const { content, first, records } = yield* readSegment(file)
    if (first === undefined && content.byteLength === 0) {
      // A crash between creating the file and writing to it: nothing in it was ever promised.
      yield* fs.remove(file, { force: true }).pipe(Effect.mapError(failing(file)))
      continue
    }
    if (first === undefined) {
      yield* fs.rename(file, `${file}.damaged`).pipe(Effect.mapError(failing(file)))
      yield* Effect.logWarning("a spool file cannot be read and is left aside; its items are rolled out again", {
        file: `${file}.damaged`
      })
      continue
    }
    const header = yield* decodeSegmentHeader(characters.decode(first)).pipe(
      Effect.mapError((cause) => damaged(file, cause))
    )
    if (header.lineage !== lineage) {
      yield* fs.rename(file, `${file}.stale`).pipe(Effect.mapError(failing(file)))
      yield* Effect.logWarning("spooled groups belong to another run and are left aside", { file: `${file}.stale` })
      continue
    }
    for (const record of records) {
      const { closes, index } = yield* decodeRecordHeader(headerText(record)).pipe(
        Effect.mapError((cause) => damaged(file, cause))
      )
      recovered.push({ index, closes })
    }
    segments.push({ path: file, bytes: content.byteLength, records: records.length })
  }

  const totalBytes = (): number => segments.reduce((sum, { bytes }) => sum + bytes, 0)
  const nextSegment = (): Segment => {
    sequence++
    const name = `${String(sequence).padStart(8, "0")}-${Uuid.v4().slice(0, 8)}${extension}`
    return { path: path.join(directory, name), bytes: 0, records: 0 }
  }

  const checkRoom = (more: number): Effect.Effect<void, SpoolError> =>
    totalBytes() + more <= maxBytes
      ? Effect.void
      : Effect.fail(
          new SpoolError({
            path: directory,
            message: `the spool ${directory} holds ${totalBytes()} of ${maxBytes} bytes it may hold: no room for ${more} more`,
            isFull: true
          })
        )

  const startAnew = Effect.sync(() => {
    open = undefined
    unused = undefined
  })

  const append = Effect.fnUntraced(function* (entries: ReadonlyArray<Spooled>) {
    const target = open !== undefined && open.bytes < segmentBytes ? open : (unused ??= nextSegment())
    const cutOff = target === unused ? fs.remove(target.path) : fs.truncate(target.path, target.bytes)
    const payloads = entries.map(encode)
    if (target.bytes === 0) payloads.unshift(text.encode(JSON.stringify({ lineage })))
    const bytes = frame(payloads)
    yield* checkRoom(bytes.byteLength)
    yield* Effect.scoped(
      Effect.gen(function* () {
        const file = yield* fs.open(target.path, { flag: "a" })
        yield* file.writeAll(bytes).pipe(
          Effect.andThen(file.sync),
          // What cannot be cut off ends its segment: behind a torn record nothing would be read.
          Effect.onError(() => cutOff.pipe(Effect.catch(() => startAnew)))
        )
      })
    ).pipe(Effect.mapError(failing(target.path)))
    if (target !== open) segments.push(target)
    open = target
    unused = undefined
    target.bytes += bytes.byteLength
    target.records += entries.length
  })

  const removeHead = Effect.fnUntraced(function* (segment: Segment) {
    head = undefined
    segments.shift()
    if (open === segment) open = undefined
    yield* fs
      .remove(segment.path, { force: true })
      .pipe(Effect.catch((cause) => Effect.logWarning("spool file not removed", { file: segment.path, cause })))
  })

  const peek = Effect.gen(function* () {
    while (head === undefined && segments.length > 0) {
      const segment = segments[0]!
      // What is being read takes no more: its end must stay where it is.
      if (open === segment) open = undefined
      const loaded = yield* Effect.result(
        Effect.gen(function* () {
          const { records } = yield* readSegment(segment.path)
          return yield* Effect.forEach(records, (record) => decode(record, segment.path))
        })
      )
      if (Result.isFailure(loaded)) {
        // The file stays for a person to look at; the ones behind it must not wait.
        segments.shift()
        return yield* loaded.failure
      }
      head = { segment, deliveries: loaded.success, taken: 0 }
      if (loaded.success.length === 0) yield* removeHead(segment)
    }
    return head === undefined ? [] : head.deliveries.slice(head.taken)
  })

  const commit = Effect.fnUntraced(function* (count: number) {
    if (head === undefined) return
    head.taken += count
    if (head.taken >= head.deliveries.length) yield* removeHead(head.segment)
  })

  const spool: Spool = {
    append: (entries) => lock.withPermits(1)(append(entries)),
    peek: lock.withPermits(1)(peek),
    commit: (count) => lock.withPermits(1)(commit(count)),
    size: () => segments.reduce((sum, { records }) => sum + records, 0) - (head?.taken ?? 0),
    bytes: totalBytes,
    recovered
  }
  return spool
})

const isDiskFull = (error: PlatformError.PlatformError): boolean => /ENOSPC|EDQUOT|no space/i.test(describe(error))

/** What the system said, which names the reason; the platform's own words where it said nothing. */
const describe = ({ message, reason }: PlatformError.PlatformError): string =>
  reason.cause instanceof Error ? reason.cause.message : message

const encode = ({ closes, delivery }: Spooled): Uint8Array => {
  const header = text.encode(JSON.stringify({ index: delivery.index, key: delivery.key, closes }))
  const group = PackedGroup.encode(delivery.group)
  const record = new Uint8Array(4 + header.byteLength + group.byteLength)
  new DataView(record.buffer).setUint32(0, header.byteLength, true)
  record.set(header, 4)
  record.set(group, 4 + header.byteLength)
  return record
}

const headerLength = (record: Uint8Array): number =>
  new DataView(record.buffer, record.byteOffset, record.byteLength).getUint32(0, true)

const headerText = (record: Uint8Array): string => characters.decode(record.subarray(4, 4 + headerLength(record)))

const decode = Effect.fnUntraced(function* (record: Uint8Array, file: string) {
  const { index, key } = yield* decodeRecordHeader(headerText(record)).pipe(
    Effect.mapError(
      (cause) => new SpoolError({ path: file, message: `damaged record in ${file}`, isFull: false, cause })
    )
  )
  // A copy (a Buffer's `slice` is none), so that the group's arrays, which are views, are aligned and do not keep the
  // whole segment in memory.
  const group = yield* Effect.fromResult(
    PackedGroup.decode(new Uint8Array(record.subarray(4 + headerLength(record))))
  ).pipe(
    Effect.mapError(
      (cause) => new SpoolError({ path: file, message: `damaged group ${key} in ${file}`, isFull: false, cause })
    )
  )
  const delivery: Delivery = { index, key, group }
  return delivery
})

const frame = (payloads: ReadonlyArray<Uint8Array>): Uint8Array => {
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

/** The whole records of a segment; what follows the first torn one was never answered for. */
const frames = (content: Uint8Array): ReadonlyArray<Uint8Array> => {
  const found: Array<Uint8Array> = []
  const view = new DataView(content.buffer, content.byteOffset, content.byteLength)
  let at = 0
  while (at + frameBytes <= content.byteLength) {
    const length = view.getUint32(at, true)
    const payload = content.subarray(at + frameBytes, at + frameBytes + length)
    if (payload.byteLength < length || crc32(payload) !== view.getUint32(at + 4, true)) break
    found.push(payload)
    at += frameBytes + length
  }
  return found
}
