/**
 * Sends rows of a run to a server: in order, each at its offset, tables before the rows that reference them, the
 * summary with every request.
 *
 * A request whose answer was lost is repeated at the same offset, so no row is lost or duplicated. Never waits or
 * retries: callers do.
 */
import { Effect } from "effect"
import type { Row } from "./Rows.ts"
import { type RunRef, type WandbApi, WandbError } from "./WandbApi.ts"
import type { WandbRun } from "./WandbRun.ts"

export interface Upload {
  /** Registers the run; completes with the newest step that the server has, -Infinity if none. */
  readonly connect: Effect.Effect<{ readonly place: RunRef; readonly before: number }, WandbError>
  /** Rows to send, which `send` does. */
  readonly push: (row: Row) => void
  readonly waiting: () => number
  /** Sends all waiting rows. */
  readonly send: Effect.Effect<void, WandbError>
  /** Reports to a server that the run is alive without changes. */
  readonly heartbeat: Effect.Effect<void, WandbError>
  readonly complete: (exitCode: number) => Effect.Effect<void, WandbError>
  /** Rows the server has. */
  readonly rows: () => number
}

const maxRowsPerRequest = 1000
const maxBytesPerRequest = 1024 * 1024

/** A rejected run is rejected permanently. */
const asFinal = (error: WandbError): WandbError =>
  error.reason === "refused" ? new WandbError({ reason: "final", message: error.message, cause: error }) : error

export const make = (run: WandbRun, api: WandbApi): Upload => {
  const seconds = (at: number): number => Math.max(0, (at - run.startedAt) / 1000)
  let connected: { readonly place: RunRef; readonly before: number } | undefined
  let offset = 0
  let waiting: Array<{ readonly line: string; readonly summary: string; readonly files: Row["files"] }> = []
  const summary: Record<string, unknown> = {}
  /** Tables on the server whose rows are not there yet. */
  const sent = new Set<string>()

  const connect = Effect.gen(function* () {
    if (connected !== undefined) return connected
    const { isNew, lines, ...place } = yield* Effect.mapError(api.upsertRun({ ...run, jobType: run.kind }), asFinal)
    const before = !isNew && lines > 0 ? yield* api.lastStep(place) : undefined
    offset = lines
    return (connected = { place, before: before ?? Number.NEGATIVE_INFINITY })
  })

  const sendFile = (place: RunRef, { bytes, name }: Row["files"][number]) =>
    api.upload(place, name, bytes).pipe(
      Effect.andThen(Effect.sync(() => void sent.add(name))),
      Effect.catchIf(
        ({ reason }) => reason === "refused",
        ({ message }) => Effect.logWarning("table could not be uploaded", { name, reason: message })
      )
    )

  const send = Effect.gen(function* () {
    const { place } = yield* connect
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
        files.filter(({ name }) => !sent.has(name)),
        (file) => sendFile(place, file),
        { concurrency: 4, discard: true }
      )
      const uploaded = files.map(({ name }) => name).filter((name) => sent.has(name))
      yield* Effect.mapError(
        api.stream(place, {
          files: {
            "wandb-history.jsonl": { offset, content: batch.map(({ line }) => line) },
            "wandb-summary.json": { offset: 0, content: [batch.at(-1)!.summary] }
          },
          ...(uploaded.length > 0 && { uploaded })
        }),
        asFinal
      )
      offset += count
      waiting = waiting.slice(count)
      for (const { name } of files) sent.delete(name)
    }
  })

  return {
    connect,
    push: ({ at, files, step, values }) => {
      const row = { ...values, _step: step, _timestamp: at / 1000, _runtime: seconds(at) }
      Object.assign(summary, row, { _wandb: { runtime: Math.floor(seconds(at)) } })
      waiting.push({ line: JSON.stringify(row), summary: JSON.stringify(summary), files })
    },
    waiting: () => waiting.length,
    send,
    heartbeat: Effect.flatMap(connect, ({ place }) => api.stream(place, {})),
    complete: (exitCode) =>
      Effect.flatMap(connect, ({ place }) =>
        Effect.mapError(api.stream(place, { complete: true, exitcode: exitCode }), asFinal)
      ),
    rows: () => offset
  }
}

export const urlOf = (baseUrl: string, { entity, project, run }: RunRef): string =>
  `${baseUrl.replace(/(?<!\/)\/+$/, "").replace("//api.wandb.ai", "//wandb.ai")}/${entity}/${project}/runs/${run}`
