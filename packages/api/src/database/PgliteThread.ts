/**
 * Runs the thread of the embedded database, and restarts it after a full disk ended it (one in memory cannot be
 * restarted).
 *
 * Without space for the next WAL segment Postgres gives up, and then answers nothing or loops forever, without
 * reporting a failure. So the thread is polled every second; one without progress on a full disk is ended. A new one
 * starts once there is space, and recovers all acknowledged writes. Until then connections fail immediately with the
 * reason.
 */
import * as Thread from "@atropos/core/base/Thread"
import { Clock, Effect, Option, Schedule, Schema, type Scope } from "effect"
import { statfs } from "node:fs/promises"
import { Duplex } from "node:stream"
import type { Worker } from "node:worker_threads"
import * as PgliteProgram from "./PgliteProgram.ts"
import type { PgliteCommand, PgliteEvent } from "./PgliteWorker.ts"

/** The embedded database cannot be opened. */
export class PgliteError extends Schema.TaggedError<PgliteError>()("PgliteError", { message: Schema.String }) {}

export interface PgliteThread {
  /** A connection to the current thread, as the byte stream that the client expects. */
  readonly connect: () => Duplex
}

const workerUrl = Thread.fileBeside(import.meta.url, "PgliteWorker")

const mebibyte = 1024 ** 2

/** Two WAL segments: one it may need at any moment, one for recovery. */
const roomBytes = 32 * mebibyte

const stopped = "embedded database stopped; restarting once the disk has space"

const silenceMillis = 5000

/** Describes a full disk; none if there is space or the folder cannot be checked. */
export const fullDisk = (folder: string | undefined): Effect.Effect<Option.Option<string>> =>
  folder === undefined
    ? Effect.succeedNone
    : Effect.tryPromise(() => statfs(folder)).pipe(
        Effect.map(({ bavail, bsize }) => bavail * bsize),
        Effect.option,
        Effect.map(Option.filter((free) => free < roomBytes)),
        Effect.map(
          Option.map(
            (free) =>
              `the disk of ${folder} is full: ${Math.floor(free / mebibyte)} MiB free, ${roomBytes / mebibyte} needed`
          )
        )
      )

const send = (worker: Worker, command: PgliteCommand): void =>
  worker.postMessage(command, "bytes" in command ? [command.bytes.buffer as ArrayBuffer] : [])

const refused = (reason: string): Duplex => {
  const stream = new Duplex({ read: () => {}, write: (_chunk, _encoding, done) => done() })
  // After the client has attached its listeners.
  setImmediate(() => stream.destroy(new Error(reason)))
  return stream
}

const cancelCode = 80_877_102

/**
 * True for a request to cancel another connection's statement, which the client sends if an interrupted statement is
 * still running. The database runs one statement at a time and would end on such a request.
 */
const isCancelRequest = (bytes: Uint8Array): boolean =>
  bytes.length === 16 && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).readInt32BE(4) === cancelCode

const connection = (worker: Worker, id: number): Duplex => {
  let hasStarted = false
  const stream = new Duplex({
    read: () => {},
    write: (chunk: Uint8Array, _encoding, done) => {
      if (!hasStarted && isCancelRequest(chunk)) stream.push(null)
      // The client reuses its buffers, so this is a copy.
      else send(worker, { connection: id, bytes: Uint8Array.from(chunk) })
      hasStarted = true
      done()
    },
    final: (done) => {
      send(worker, { connection: id, end: true })
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

const notOpened = (dataDir: string | undefined) => (why: string) =>
  new PgliteError({ message: `cannot open the embedded database in ${dataDir ?? "memory"}: ${why}` })

/** Adds the disk's state to a start that fails, or takes long, on a full disk. */
const tellingOfDisk =
  (dataDir: string | undefined, folder: string | undefined) =>
  (start: Effect.Effect<void, PgliteError>): Effect.Effect<void, PgliteError> =>
    start.pipe(
      // A startup that loops forever has the same cause.
      Effect.raceFirst(
        fullDisk(folder).pipe(
          Effect.delay(silenceMillis),
          Effect.repeat({ until: Option.isSome }),
          Effect.andThen(new PgliteError({ message: `cannot open the embedded database in ${dataDir ?? "memory"}` }))
        )
      ),
      Effect.catch((error) =>
        Effect.flatMap(fullDisk(folder), (full) =>
          Effect.fail(
            Option.match(full, {
              onNone: () => error,
              onSome: (why) => new PgliteError({ message: `${error.message}: ${why}. Free disk space and restart` })
            })
          )
        )
      )
    )

/** The database of a folder, or one in memory. */
export const make = Effect.fnUntraced(function* (
  dataDir: string | undefined,
  /** The folder whose disk is checked. */
  folder: string | undefined
): Effect.fn.Return<PgliteThread, PgliteError, Scope.Scope> {
  let running: Worker | undefined
  let reason = "the embedded database has stopped"
  let isFull = false
  let heard = 0
  let runs = 0
  let isMoving = false
  let connections = 0

  const startWith = (program: PgliteProgram.Program) =>
    Effect.callback<void, PgliteError>((resume) => {
      const worker = Thread.spawn(workerUrl, { workerData: { dataDir, program }, name: "pglite" })
      const fail = (why: string) => {
        void worker.terminate()
        resume(Effect.fail(notOpened(dataDir)(why)))
      }
      worker.setMaxListeners(0)
      worker.once("error", (error) => fail(error.message))
      worker.once("exit", () => {
        if (running === worker) {
          running = undefined
          reason = "the embedded database has stopped"
        }
        fail("its thread ended")
      })
      worker.once("message", (event: PgliteEvent) => {
        if (event.event === "failed") return fail(event.message)
        running = worker
        worker.on("message", (answer: PgliteEvent) => {
          if (answer.event !== "alive") return
          if (!answer.isRunning || answer.runs !== runs) isMoving = true
          runs = answer.runs
        })
        resume(Effect.void)
      })
      return Effect.promise(() => worker.terminate())
    })

  const open = (program: PgliteProgram.Program) =>
    startWith(program).pipe(
      Effect.tap(() => Effect.map(Clock.currentTimeMillis, (now) => void (heard = now))),
      tellingOfDisk(dataDir, folder)
    )

  const start = PgliteProgram.program.pipe(Effect.mapError(notOpened(dataDir)), Effect.flatMap(open))

  const stop = Effect.suspend(() => {
    const worker = running
    running = undefined
    return worker === undefined
      ? Effect.void
      : Effect.callback<void>((resume) => {
          worker.once("exit", () => resume(Effect.void))
          send(worker, { close: true })
        }).pipe(
          Effect.timeoutOrElse({ duration: "10 seconds", orElse: () => Effect.promise(() => worker.terminate()) }),
          Effect.asVoid
        )
  })

  /** Ends a thread that is silent on a full disk. */
  const watch = Effect.fnUntraced(function* (worker: Worker) {
    const now = yield* Clock.currentTimeMillis
    // Its last answer was to an earlier poll; a second does not matter.
    if (isMoving) heard = now
    isMoving = false
    send(worker, { ask: "alive" })
    if (now - heard < silenceMillis) return
    const full = yield* fullDisk(folder)
    if (Option.isNone(full)) return
    reason = full.value
    isFull = true
    yield* Effect.logError(stopped, { reason })
    running = undefined
    yield* Effect.promise(() => worker.terminate())
  })

  const restart = Effect.gen(function* () {
    const full = yield* fullDisk(folder)
    if (Option.isSome(full)) {
      const isTold = isFull
      isFull = true
      reason = full.value
      return yield* isTold ? Effect.void : Effect.logError(stopped, { reason })
    }
    yield* start
    isFull = false
    yield* Effect.logInfo("embedded database restarted")
  }).pipe(Effect.catch((error) => Effect.logWarning("cannot restart the embedded database", { reason: error.message })))

  yield* Effect.addFinalizer(() => stop)
  yield* start
  if (dataDir !== undefined) {
    yield* Effect.suspend(() => (running === undefined ? restart : watch(running))).pipe(
      Effect.repeat(Schedule.spaced("1 second")),
      Effect.forkScoped
    )
  }
  return { connect: () => (running === undefined ? refused(reason) : connection(running, connections++)) }
})
