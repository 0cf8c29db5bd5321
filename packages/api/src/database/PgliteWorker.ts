/**
 * Runs PGlite in a thread, so that its queries (single-threaded) never block the event loop of the service.
 *
 * Speaks the Postgres protocol over the message port: raw bytes from the client come in, complete protocol messages go
 * to PGlite one run at a time, and its output goes back. `{ close: true }` shuts it down cleanly.
 */
import { PGlite } from "@electric-sql/pglite"
import { existsSync } from "node:fs"
import { parentPort, workerData } from "node:worker_threads"
import type { Program } from "./PgliteProgram.ts"
import * as PgliteTemplate from "./PgliteTemplate.ts"

export type PgliteEvent =
  | { readonly event: "ready" }
  /** The answer to a poll: number of runs started, and whether the last one is still running. */
  | { readonly event: "alive"; readonly runs: number; readonly isRunning: boolean }
  | { readonly event: "failed"; readonly message: string }
  | { readonly event: "bytes"; readonly connection: number; readonly bytes: Uint8Array }

export type PgliteCommand =
  | { readonly connection: number; readonly bytes: Uint8Array }
  | { readonly connection: number; readonly end: true }
  | { readonly ask: "alive" }
  | { readonly close: true }

const { dataDir, program } = workerData as {
  readonly dataDir: string | undefined
  readonly program: Program
}
const port = parentPort!
const post = (event: PgliteEvent, transfer: ReadonlyArray<ArrayBuffer> = []) => port.postMessage(event, [...transfer])

const terminate = 0x58 // "X"

const sync = 0x53 // "S"
const query = 0x51 // "Q"
/** The last message of a complete answer. A database that has aborted ends without it and reports nothing. */
const readyForQuery = 0x5a // "Z"

/** Bytes of a connection that are not a complete message yet. */
interface Session {
  pending: Buffer
  /** The first message of a connection has no type byte. */
  hasStarted: boolean
}

const sessions = new Map<number, Session>()

/**
 * Removes the complete messages from the pending bytes, and returns whether the last one is answered by ReadyForQuery.
 * A Terminate message is dropped, since PGlite would end with it.
 */
const takeMessages = (session: Session): { readonly messages: Uint8Array; readonly isAsked: boolean } => {
  const { pending } = session
  const kept: Array<Buffer> = []
  let at = 0
  let last: number | undefined
  for (;;) {
    const head = session.hasStarted ? 1 : 0
    if (pending.length - at < head + 4) break
    const length = pending.readInt32BE(at + head) + head
    if (pending.length - at < length) break
    if (!session.hasStarted || pending[at] !== terminate) kept.push(pending.subarray(at, at + length))
    last = session.hasStarted ? pending[at] : undefined
    session.hasStarted = true
    at += length
  }
  session.pending = pending.subarray(at)
  const messages = kept.length === 1 ? kept[0]! : Buffer.concat(kept)
  return { messages, isAsked: last === sync || last === query }
}

const failed = (error: unknown) =>
  post({ event: "failed", message: error instanceof Error ? error.message : String(error) })

const open = (): Promise<PGlite> => {
  const options = { pgliteWasmModule: program }
  if (dataDir !== undefined && existsSync(dataDir)) return PGlite.create({ ...options, dataDir })
  const template = PgliteTemplate.read()
  if (dataDir === undefined) {
    return PGlite.create({ ...options, ...(template && { loadDataDir: new Blob([template]) }) })
  }
  if (template !== undefined) PgliteTemplate.unpack(template, dataDir)
  return PGlite.create({ ...options, dataDir })
}

try {
  const database = await open()
  let last: Promise<void> = Promise.resolve()
  let runs = 0
  let isRunning = false

  const run = async (connection: number, messages: Uint8Array, isAsked: boolean): Promise<void> => {
    const answers: Array<Uint8Array> = []
    runs++
    isRunning = true
    await database.runExclusive(() =>
      database.execProtocolRawStream(messages, { onRawData: (bytes) => void answers.push(bytes.slice()) })
    )
    isRunning = false
    // A separate copy, so that its memory can be transferred.
    const bytes = new Uint8Array(answers.reduce((sum, { length }) => sum + length, 0))
    let at = 0
    for (const answer of answers) {
      bytes.set(answer, at)
      at += answer.length
    }
    if (isAsked && bytes.at(-6) !== readyForQuery) throw new Error("it aborted during a statement")
    post({ event: "bytes", connection, bytes }, [bytes.buffer])
  }

  port.on("message", (command: PgliteCommand) => {
    if ("ask" in command) return post({ event: "alive", runs, isRunning })
    if ("close" in command) {
      last = last.then(() => database.close()).then(() => port.close())
    } else if ("end" in command) {
      sessions.delete(command.connection)
      return
    } else {
      const session = sessions.get(command.connection) ?? { pending: Buffer.alloc(0), hasStarted: false }
      sessions.set(command.connection, session)
      const bytes = Buffer.from(command.bytes.buffer, command.bytes.byteOffset, command.bytes.byteLength)
      session.pending = session.pending.length === 0 ? bytes : Buffer.concat([session.pending, bytes])
      const { isAsked, messages } = takeMessages(session)
      if (messages.length === 0) return
      last = last.then(() => run(command.connection, messages, isAsked))
    }
    // The thread ends if its program throws.
    last = last.catch((error: unknown) => {
      failed(error)
      process.exit(1)
    })
  })
  post({ event: "ready" })
} catch (error) {
  failed(error)
}
