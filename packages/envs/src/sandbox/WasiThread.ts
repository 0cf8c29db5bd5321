/**
 * Runs Python for WASI in a thread; not a module to import.
 *
 * It never returns to its event loop: an interpreter is started, sends `ready` when it asks for a job, runs it, and the
 * next interpreter is started immediately, with fresh memory and a fresh file system. A runner serves one job per
 * interpreter, a judge many. Whatever the program does, the other side has a deadline and ends the thread.
 */
import { type MessagePort, parentPort, workerData } from "node:worker_threads"
import * as Bell from "./Bell.ts"
import { type Device, GuardedWasi } from "./GuardedWasi.ts"
import type { Ended, JudgeJob, RunnerJob } from "./Interpreter.ts"
import { inLines, maxTrafficBytes, whyEnded } from "./Lines.ts"
import * as SharedOutput from "./SharedOutput.ts"
import * as WasmMemory from "./WasmMemory.ts"

export interface ThreadData {
  readonly role: "runner" | "judge" | "unpacker"
  readonly module: WasmMemory.Module
  /** Path of the script to run, source or compiled. */
  readonly script: string
  readonly files: ReadonlyMap<string, Uint8Array>
  /** The first folder that modules are looked up in. */
  readonly library: string
  readonly maxFileBytes: number
  readonly bell: Bell.Bell
  readonly output: SharedArrayBuffer
}

/** The line to the interpreter of the other role. */
export interface Peer {
  readonly port: MessagePort
  /** The other thread's. */
  readonly bell: Bell.Bell
}

export type ToThread =
  | { readonly type: "run"; readonly job: RunnerJob; readonly peer: Peer | undefined }
  | { readonly type: "judge"; readonly job: JudgeJob; readonly peer: Peer }
  | { readonly type: "stop" }
  | { readonly type: "abandon"; readonly number: number; readonly why: string }

export type FromThread =
  | { readonly type: "ready" }
  | { readonly type: "answer"; readonly text: string }
  | { readonly type: "ended"; readonly ended: Ended }

/** Ends a run from within a call of its program. */
class Halt {
  readonly ended: Ended
  constructor(ended: Ended) {
    this.ended = ended
  }
}

// Only started as a worker, with this data.
const { bell, files, library, maxFileBytes, module, output: buffer, role, script } = workerData as ThreadData
const control = parentPort!
const output = SharedOutput.over(buffer)
const nothing = new Uint8Array()
const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

/** To the thread that started this one, which has no origin. */
// oxlint-disable-next-line unicorn/require-post-message-target-origin
const post = (message: FromThread) => control.postMessage(message)

const send = ({ bell: theirs, port }: Peer, message: Uint8Array | Ended): void => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  port.postMessage(message)
  Bell.ring(theirs)
}

const sleeper = new Int32Array(new SharedArrayBuffer(4))

/** Sleeps for the number of seconds written to it. */
const sleep: Device = {
  read: () => nothing,
  write: (bytes) => void Atomics.wait(sleeper, 0, 0, Number(new TextDecoder().decode(bytes)) * 1000)
}

/** Chunked reads from a source of whole messages. */
const inPieces = (next: () => Uint8Array) => {
  let rest: Uint8Array = nothing
  return (maxBytes: number): Uint8Array => {
    if (rest.length === 0) rest = next()
    const piece = rest.subarray(0, maxBytes)
    rest = rest.subarray(piece.length)
    return piece
  }
}

interface Role {
  readonly control: Device
  readonly peer: Device
  readonly stdin: (maxBytes: number) => Uint8Array
  readonly output: (descriptor: 1 | 2, bytes: Uint8Array) => void
  readonly ended: (ended: Ended) => void
}

const runner = (): Role => {
  let run: Extract<ToThread, { readonly type: "run" }> | undefined
  let trafficBytes = 0
  const takeJob = (): Uint8Array => {
    if (run !== undefined) return nothing
    post({ type: "ready" })
    while (run === undefined) {
      const message = Bell.next(bell, [control]).message as ToThread
      if (message.type === "run") run = message
    }
    return encode(`${JSON.stringify({ source: run.job.source, serve: run.job.serve })}\n`)
  }
  const hear = (): Uint8Array => {
    if (run?.peer === undefined) return nothing
    const { message, port } = Bell.next(bell, [control, run.peer.port])
    if (port === 0) throw new Halt({ ending: "stopped" })
    return message as Uint8Array
  }
  return {
    control: { read: inPieces(takeJob), write: () => undefined },
    peer: {
      read: inPieces(hear),
      write: (bytes) => {
        trafficBytes += bytes.length
        if (trafficBytes > maxTrafficBytes) throw new Halt({ ending: "outputLimit" })
        if (run?.peer !== undefined) send(run.peer, bytes.slice())
      }
    },
    stdin: inPieces(onceOnly(() => encode(run?.job.stdin ?? ""))),
    output: (descriptor, bytes) => {
      if (!SharedOutput.write(output, descriptor, bytes, run?.job.outputBytes ?? 0)) {
        throw new Halt({ ending: "outputLimit" })
      }
    },
    ended: (ended) => {
      if (run?.peer === undefined) return
      send(run.peer, ended)
      run.peer.port.close()
    }
  }
}

const judge = (): Role => {
  let current: Extract<ToThread, { readonly type: "judge" }> | undefined
  let heard: Array<string> = []
  let splitLines = inLines(() => undefined)
  const takeJob = (): Uint8Array => {
    current?.peer.port.close()
    current = undefined
    post({ type: "ready" })
    while (current === undefined) {
      const message = Bell.next(bell, [control]).message as ToThread
      if (message.type === "judge") current = message
    }
    heard = []
    const { number } = current.job
    splitLines = inLines((line) => heard.push(`${number} ${line}\n`))
    return encode(`${JSON.stringify(current.job)}\n`)
  }
  /** Frames of the program, each prefixed by the job's number; `!` and the reason, once it has ended. */
  const hear = (): Uint8Array => {
    if (current === undefined) return nothing
    const { job, peer } = current
    while (heard.length === 0) {
      const { message, port } = Bell.next(bell, [control, peer.port])
      if (port === 0) {
        const request = message as ToThread
        if (request.type === "abandon" && request.number === job.number) heard.push(`${job.number} !${request.why}\n`)
      } else if (message instanceof Uint8Array) splitLines(message)
      else heard.push(`${job.number} !${whyEnded(message as Ended)}\n`)
    }
    return encode(heard.splice(0).join(""))
  }
  return {
    control: { read: inPieces(takeJob), write: inLines((text) => post({ type: "answer", text })) },
    peer: { read: inPieces(hear), write: (bytes) => current !== undefined && send(current.peer, bytes.slice()) },
    stdin: () => nothing,
    output: (descriptor, bytes) => SharedOutput.write(output, descriptor, bytes, output.capacity),
    ended: () => undefined
  }
}

/** Only sends output. */
const unpacker = (): Role => ({
  control: { read: () => nothing, write: inLines((text) => post({ type: "answer", text })) },
  peer: { read: () => nothing, write: () => undefined },
  stdin: () => nothing,
  output: (descriptor, bytes) => SharedOutput.write(output, descriptor, bytes, output.capacity),
  ended: () => undefined
})

const onceOnly = (make: () => Uint8Array): (() => Uint8Array) => {
  let isMade = false
  return () => {
    if (isMade) return nothing
    isMade = true
    return make()
  }
}

const live = (): Ended => {
  const { control: controlDevice, ended: onEnded, peer, stdin, output: write } = { judge, runner, unpacker }[role]()
  const wasi = new GuardedWasi({
    args: ["python", "-S", "-P", "-B", "-X", "utf8", script],
    // A deterministic order of sets and dictionaries: the same reply gets the same score.
    env: { PYTHONHASHSEED: "0", PYTHONPATH: library },
    files,
    devices: new Map([
      ["/dev/control", controlDevice],
      ["/dev/peer", peer],
      ["/dev/sleep", sleep]
    ]),
    stdin,
    output: write,
    maxFileBytes
  })
  const instance = new WasmMemory.wasm.Instance(module, wasi.getImportObject())
  // The library's types are the browser's, which may be missing.
  const source = { instance, module } as Parameters<typeof wasi.start>[0]
  const ended = outcome(() => wasi.start(source).exitCode)
  onEnded(ended)
  return ended
}

const outcome = (start: () => number): Ended => {
  try {
    return { ending: "exited", exitCode: start() }
  } catch (error) {
    if (error instanceof Halt) return error.ended
    return { ending: "crashed", why: error instanceof Error ? error.message : String(error) }
  }
}

for (;;) post({ type: "ended", ended: live() })
