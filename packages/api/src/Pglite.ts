/**
 * Embedded Postgres (PGlite) behind the same client as a Postgres server: the same SQL, no installation.
 *
 * It runs in a thread of its own. One connection, no LISTEN. With a folder, what was answered survives a crash or a kill of the
 * process, but not of the machine: PGlite does not sync to disk. One process per folder.
 */
import { FolderLock } from "@atropos/core"
import * as PgClient from "@effect/sql-pg/PgClient"
import { Effect, FileSystem, Layer, Schema, type Scope } from "effect"
import type { SqlClient } from "effect/sql"
import { NodeServices } from "@effect/platform-node"
import { Duplex } from "node:stream"
import { Worker } from "node:worker_threads"
import type { PgliteCommand, PgliteEvent } from "./internal/PgliteWorker.ts"

/** The embedded database cannot be opened. */
export class PgliteError extends Schema.TaggedError<PgliteError>()("PgliteError", { message: Schema.String }) {}

// Beside this file, as source or as compiled.
const workerUrl = new URL(`./internal/PgliteWorker.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url)

/** A connection to the thread, as the byte stream the client wants. */
const connection = (worker: Worker, id: number): Duplex => {
  const stream = new Duplex({
    read: () => {},
    write: (chunk: Uint8Array, _encoding, done) => {
      // The client reuses its buffers: hand over a copy.
      const bytes = Uint8Array.from(chunk)
      worker.postMessage({ connection: id, bytes } satisfies PgliteCommand, [bytes.buffer])
      done()
    },
    final: (done) => {
      worker.postMessage({ connection: id, end: true } satisfies PgliteCommand, [])
      stream.push(null)
      done()
    },
    destroy: (error, done) => {
      worker.off("message", receive)
      worker.off("exit", end)
      done(error)
    }
  })
  const receive = (event: PgliteEvent) => {
    if (event.event === "bytes" && event.connection === id) stream.push(event.bytes)
    if (event.event === "failed") stream.destroy(new Error(`the embedded database failed: ${event.message}`))
  }
  const end = () => stream.destroy(new Error("the embedded database has stopped"))
  worker.on("message", receive)
  worker.on("exit", end)
  return stream
}

const open = (dataDir: string | undefined): Effect.Effect<Worker, PgliteError, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<Worker, PgliteError>((resume) => {
      const worker = new Worker(workerUrl, { workerData: { dataDir }, name: "pglite" })
      const fail = (reason: string) =>
        resume(
          Effect.fail(
            new PgliteError({ message: `cannot open the embedded database in ${dataDir ?? "memory"}: ${reason}` })
          )
        )
      worker.setMaxListeners(0)
      worker.once("error", (error) => fail(error.message))
      worker.once("exit", () => fail("its thread ended"))
      worker.once("message", (event: PgliteEvent) =>
        event.event === "failed" ? fail(event.message) : resume(Effect.succeed(worker))
      )
    }),
    (worker) =>
      Effect.callback<void>((resume) => {
        worker.once("exit", () => resume(Effect.void))
        worker.postMessage({ close: true } satisfies PgliteCommand, [])
      }).pipe(
        Effect.timeoutOrElse({ duration: "10 seconds", orElse: () => Effect.promise(() => worker.terminate()) }),
        Effect.asVoid
      )
  )

/** A client of the database in `dataDir` (made where it is missing), or of one in memory. */
export const layer = (
  dataDir: string | undefined
): Layer.Layer<PgClient.PgClient | SqlClient.SqlClient, PgliteError | FolderLock.FolderLockError> =>
  Layer.unwrap(
    Effect.gen(function* () {
      if (dataDir !== undefined) {
        const fs = yield* FileSystem.FileSystem
        yield* fs
          .makeDirectory(dataDir, { recursive: true })
          .pipe(
            Effect.mapError(
              ({ message }) => new PgliteError({ message: `cannot make the folder ${dataDir}: ${message}` })
            )
          )
        yield* FolderLock.hold(dataDir)
      }
      const worker = yield* open(dataDir === undefined ? undefined : `${dataDir}/pgdata`)
      let connections = 0
      return PgClient.layer({
        username: "postgres",
        database: "postgres",
        ssl: false,
        stream: () => connection(worker, connections++),
        minConnections: 1,
        maxConnections: 1
      }).pipe(Layer.catchTag("SqlError", (error) => Layer.effectContext(new PgliteError({ message: error.message }))))
    })
  ).pipe(Layer.provide(NodeServices.layer))
