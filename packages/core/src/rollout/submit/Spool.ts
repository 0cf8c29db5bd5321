/**
 * Stores groups on disk while the service is unavailable: FIFO, bounded in total, surviving a restart of the process.
 *
 * Consists of segments of framed records (`SpoolRecord`); each append is synced before it returns. A torn tail ends its
 * segment; a failed append is truncated, so a full disk loses nothing written before. A segment is deleted once
 * delivered completely: after a crash some of it may be sent again, which the groups' keys make harmless. One process
 * at a time appends to a segment; segments of other lineages are set aside.
 */
import { Effect, FileSystem, Path, Result, Semaphore } from "effect"
import * as Uuid from "../../base/Uuid.ts"
import type { Delivery } from "./Delivery.ts"
import { failing, SpoolError } from "./SpoolError.ts"
import * as SpoolRecord from "./SpoolRecord.ts"
import * as SpoolRecovery from "./SpoolRecovery.ts"

export interface SpoolOptions {
  readonly directory: string
  readonly maxBytes: number
  /** Lineage of these groups; see `Checkpoint`. */
  readonly lineage: string
  /** Bytes after which a segment is closed and the next one begins. */
  readonly segmentBytes?: number
}

export interface Spool {
  /** Appends all or none. */
  readonly append: (entries: ReadonlyArray<SpoolRecord.Spooled>) => Effect.Effect<void, SpoolError>
  /** The oldest deliveries, up to one segment's; empty if none. */
  readonly peek: Effect.Effect<ReadonlyArray<Delivery>, SpoolError>
  /** Removes the oldest `count` deliveries returned by `peek`. */
  readonly commit: (count: number) => Effect.Effect<void>
  readonly size: () => number
  readonly bytes: () => number
  /** Left by an earlier process, oldest first. */
  readonly recovered: SpoolRecovery.Recovered
}

/** The segment being read, and how much of it was delivered. */
interface Head {
  readonly segment: SpoolRecovery.Segment
  readonly deliveries: ReadonlyArray<Delivery>
  taken: number
}

/** Opens the spool in a folder and recovers its contents. */
export const make = Effect.fn("Spool.make")(function* (options: SpoolOptions) {
  const { directory, lineage, maxBytes, segmentBytes = 16 * 1024 * 1024 } = options
  const context = yield* Effect.context<FileSystem.FileSystem>()
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const lock = yield* Semaphore.make(1)
  yield* Effect.mapError(fs.makeDirectory(directory, { recursive: true }), failing(directory))
  const { recovered, segments, ...last } = yield* SpoolRecovery.recover(directory, lineage)
  let { sequence } = last
  /** The segment being appended to. */
  let open: SpoolRecovery.Segment | undefined
  /** The next segment, until it has content. */
  let unused: SpoolRecovery.Segment | undefined
  let head: Head | undefined

  const totalBytes = (): number => segments.reduce((sum, { bytes }) => sum + bytes, 0)
  const nextSegment = (): SpoolRecovery.Segment => {
    sequence++
    const name = `${String(sequence).padStart(8, "0")}-${Uuid.v4().slice(0, 8)}${SpoolRecovery.extension}`
    return { path: path.join(directory, name), bytes: 0, records: 0 }
  }

  const checkRoom = (more: number): Effect.Effect<void, SpoolError> => {
    if (totalBytes() + more <= maxBytes) return Effect.void
    const message = `the spool ${directory} uses ${totalBytes()} of ${maxBytes} bytes: no space for ${more} more`
    return Effect.fail(new SpoolError({ path: directory, message, isFull: true }))
  }

  const startAnew = Effect.sync(() => {
    open = undefined
    unused = undefined
  })

  const append = Effect.fnUntraced(function* (entries: ReadonlyArray<SpoolRecord.Spooled>) {
    const target = open !== undefined && open.bytes < segmentBytes ? open : (unused ??= nextSegment())
    const cutOff = target === unused ? fs.remove(target.path) : fs.truncate(target.path, target.bytes)
    const payloads = entries.map(SpoolRecord.encode)
    if (target.bytes === 0) payloads.unshift(SpoolRecord.lineage(lineage))
    const bytes = SpoolRecord.frame(payloads)
    yield* checkRoom(bytes.byteLength)
    yield* Effect.scoped(
      Effect.gen(function* () {
        const file = yield* fs.open(target.path, { flag: "a" })
        yield* file.writeAll(bytes).pipe(
          Effect.andThen(file.sync),
          // If truncation fails, the segment is closed: nothing after a torn record would be read.
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

  const removeHead = Effect.fnUntraced(function* (segment: SpoolRecovery.Segment) {
    head = undefined
    segments.shift()
    if (open === segment) open = undefined
    yield* fs
      .remove(segment.path, { force: true })
      .pipe(
        Effect.catch((cause) => Effect.logWarning("spool file could not be removed", { file: segment.path, cause }))
      )
  })

  const load = Effect.fnUntraced(function* (segment: SpoolRecovery.Segment) {
    const { records } = yield* SpoolRecovery.read(segment.path)
    return yield* Effect.forEach(records, (record) => SpoolRecord.decode(record, segment.path))
  }, Effect.provideContext(context))

  const peek = Effect.gen(function* () {
    while (head === undefined && segments.length > 0) {
      const segment = segments[0]!
      // A segment being read gets no more appends: its end must not move.
      if (open === segment) open = undefined
      const loaded = yield* Effect.result(load(segment))
      if (Result.isFailure(loaded)) {
        // The file is kept for inspection; later ones must not wait for it.
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
