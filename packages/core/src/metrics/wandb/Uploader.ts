/**
 * Sends a journal's rows to a server: closed rows in order, each at its offset, tables before the rows that reference
 * them, the summary with every request.
 *
 * The server's state is recorded after each answer. A request whose answer was lost is repeated unchanged, so no row is
 * lost or duplicated. Never waits or retries: callers of `push` do.
 */
import { Effect, type PlatformError } from "effect"
import type { Journal } from "./Journal.ts"
import * as Rows from "./Rows.ts"
import { type RunRef, type WandbApi, WandbError } from "./WandbApi.ts"

export interface Uploader {
  /** Registers the run, and sends all closed rows. */
  readonly push: Effect.Effect<RunRef, WandbError | PlatformError.PlatformError>
  /** Like `push`; also reports the end, if the last record is one. */
  readonly complete: Effect.Effect<RunRef, WandbError | PlatformError.PlatformError>
  /** Reports to a server that the run is alive without changes. */
  readonly heartbeat: Effect.Effect<void, WandbError>
  /** True if the last record read so far is an end. */
  readonly hasEnded: () => boolean
  /** Rows the server has, and recorded rows read so far. */
  readonly progress: () => { readonly uploaded: number; readonly rows: number }
}

const maxRowsPerRequest = 1000
const maxBytesPerRequest = 1024 * 1024

/** A rejected run is rejected permanently. */
const asFinal = (error: WandbError): WandbError =>
  error.reason === "refused" ? new WandbError({ reason: "final", message: error.message, cause: error }) : error

/** An uploader of a journal that this process holds. */
export const make = (journal: Journal, api: WandbApi): Uploader => {
  const { run } = journal
  const rows = Rows.make()
  const seconds = (at: number): number => Math.max(0, (at - run.startedAt) / 1000)
  let position = 0
  /** Rows sent before this process began to read. */
  let toSkip = journal.uploaded().rows
  let seen = 0
  let waiting: Array<{ readonly line: string; readonly summary: string; readonly files: ReadonlyArray<string> }> = []
  const summary: Record<string, unknown> = {}
  /** Tables on the server whose rows are not there yet. */
  const sent = new Set<string>()

  const take = (row: Rows.Row): void => {
    const { after } = journal.uploaded()
    if (after !== null && row.step <= after) return
    const values = { ...row.values, _step: row.step, _timestamp: row.at / 1000, _runtime: seconds(row.at) }
    Object.assign(summary, values, { _wandb: { runtime: Math.floor(seconds(row.at)) } })
    seen++
    if (toSkip > 0) toSkip--
    else waiting.push({ line: JSON.stringify(values), summary: JSON.stringify(summary), files: row.files })
  }

  const connect = Effect.gen(function* () {
    const position = journal.uploaded()
    if (position.place !== null) return position.place
    const { isNew, lines, ...place } = yield* Effect.mapError(api.upsertRun({ ...run, jobType: run.kind }), asFinal)
    const isContinued = run.isAttached && !isNew && lines > 0
    const after = isContinued ? ((yield* api.lastStep(place)) ?? null) : null
    yield* journal.saveUploaded({ ...position, place, base: isContinued ? lines : 0, after })
    return place
  })

  const sendFile = (place: RunRef, name: string) =>
    Effect.flatMap(journal.file(name), (bytes) => api.upload(place, name, bytes)).pipe(
      Effect.andThen(Effect.sync(() => void sent.add(name))),
      Effect.catchIf(
        (error) => error._tag === "WandbError" && error.reason === "refused",
        (error) => Effect.logWarning("table could not be uploaded", { name, reason: error.message })
      )
    )

  const sendWaiting = Effect.fnUntraced(function* (place: RunRef) {
    while (waiting.length > 0) {
      let bytes = 0
      let count = 0
      while (count < waiting.length && count < maxRowsPerRequest) {
        bytes += waiting[count]!.line.length
        if (count > 0 && bytes > maxBytesPerRequest) break
        count++
      }
      const batch = waiting.slice(0, count)
      const files = batch.flatMap(({ files }) => files)
      yield* Effect.forEach(
        files.filter((name) => !sent.has(name)),
        (name) => sendFile(place, name),
        { concurrency: 4, discard: true }
      )
      const uploaded = files.filter((name) => sent.has(name))
      const position = journal.uploaded()
      yield* Effect.mapError(
        api.stream(place, {
          files: {
            "wandb-history.jsonl": { offset: position.base + position.rows, content: batch.map(({ line }) => line) },
            "wandb-summary.json": { offset: 0, content: [batch.at(-1)!.summary] }
          },
          ...(uploaded.length > 0 && { uploaded })
        }),
        asFinal
      )
      yield* journal.saveUploaded({ ...position, rows: position.rows + count })
      waiting = waiting.slice(count)
      for (const name of files) sent.delete(name)
    }
  })

  const push = Effect.gen(function* () {
    const place = yield* connect
    for (;;) {
      yield* sendWaiting(place)
      const { next, parts } = yield* journal.read(position)
      if (next === position) return place
      position = next
      for (const part of parts) {
        const row = rows.add(part)
        if (row !== undefined) take(row)
      }
    }
  })

  return {
    push,
    complete: Effect.gen(function* () {
      const place = yield* push
      const exit = rows.exit()
      const position = journal.uploaded()
      if (exit === undefined || position.isComplete) return place
      yield* Effect.mapError(api.stream(place, { complete: true, exitcode: exit }), asFinal)
      yield* journal.saveUploaded({ ...position, isComplete: true })
      return place
    }),
    heartbeat: Effect.suspend(() => {
      const { place } = journal.uploaded()
      return place === null ? Effect.void : api.stream(place, {})
    }),
    hasEnded: () => rows.exit() !== undefined,
    progress: () => ({ uploaded: journal.uploaded().rows, rows: seen + (rows.isOpen() ? 1 : 0) })
  }
}
