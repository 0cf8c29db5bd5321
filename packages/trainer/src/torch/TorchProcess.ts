/**
 * Runs the Python side of the engine (`python/atropos_torch`), one process or several (`TorchCommand`). Rank 0 connects
 * to a Unix socket; requests are answered in the order in which they were sent.
 *
 * Its processes end with the scope, and by themselves if this process is killed: the socket closes. When it ends, every
 * pending and later request fails with the reason.
 */
import { spawn } from "node:child_process"
import { createServer, type Socket } from "node:net"
import { Deferred, Effect, FileSystem, Path, type Scope } from "effect"
import { TrainerError } from "../learn/TrainerError.ts"
import * as TorchCommand from "./TorchCommand.ts"
import * as TorchExit from "./TorchExit.ts"
import * as TorchFrames from "./TorchFrames.ts"

export type Options = TorchCommand.Options

/** What rank 0 reports when it is ready. */
export interface About {
  /** Process ids of the ranks on this machine. */
  readonly pids: ReadonlyArray<number>
  /** On all machines. */
  readonly ranks: number
  readonly torch: string
  /** The GPU's name, or `cpu`. */
  readonly device: string
  /** Bytes of a GPU; null on the CPU. */
  readonly memory: number | null
}

/** A micro-batch does not fit into the device's memory; the gradient was discarded. */
export class OutOfMemory {
  readonly _tag = "OutOfMemory"
  readonly message: string
  constructor(message: string) {
    this.message = message
  }
}

type Failed = TrainerError | OutOfMemory

export interface Request extends TorchFrames.Header {
  readonly op: string
}

export interface TorchProcess {
  readonly about: About
  /** False once it has ended. */
  readonly isAlive: () => boolean
  /** Sends a request; the result waits for its answer. */
  readonly send: (
    request: Request,
    tensors?: TorchFrames.Tensors
  ) => Effect.Effect<Effect.Effect<TorchFrames.Answer, Failed>, TrainerError>
  /** Kills every rank on this machine with SIGKILL. */
  readonly kill: Effect.Effect<void>
}

/** Characters of output that are kept to explain an exit. */
const keptOutput = 16_384
/** How long its processes may take to end after the connection was closed. */
const grace = "3 seconds"

const failureOf = ({ message, reason }: TorchFrames.Header): Failed =>
  reason === "memory"
    ? new OutOfMemory(String(message))
    : new TrainerError({ reason: reason as TrainerError["reason"], message: `--engine torch: ${String(message)}` })

/** Requests that wait for their answers, by number; 0 is the child's first word. */
const makePending = () => {
  const waiting = new Map<number, Deferred.Deferred<TorchFrames.Answer, Failed>>()
  let ended: TrainerError | undefined
  let last = -1
  return {
    ended: () => ended,
    add: () => {
      const answer = Deferred.makeUnsafe<TorchFrames.Answer, Failed>()
      waiting.set(++last, answer)
      return { id: last, answer: Deferred.await(answer) }
    },
    take: ({ header, tensors }: TorchFrames.Answer): void => {
      const id = header["id"] as number
      const one = waiting.get(id)
      waiting.delete(id)
      if (one === undefined) return
      Deferred.doneUnsafe(
        one,
        header["ok"] === true ? Effect.succeed({ header, tensors }) : Effect.fail(failureOf(header))
      )
    },
    end: (error: TrainerError): void => {
      ended ??= error
      for (const one of waiting.values()) Deferred.doneUnsafe(one, Effect.fail(ended))
      waiting.clear()
    }
  }
}

const spawnChild = (options: Options, folder: string, socket: string) => {
  const [program = "", ...words] = TorchCommand.words(options)
  const child = spawn(program, words, {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own: Ctrl-C reaches this process only, which saves first.
    detached: true,
    env: { ...process.env, ...TorchCommand.environment(options), ATROPOS_TORCH_SOCKET: socket }
  })
  let output = ""
  const keep = (chunk: Buffer): void => {
    output = (output + chunk.toString()).slice(-keptOutput)
  }
  child.stdout.on("data", keep)
  child.stderr.on("data", keep)
  return { child, program, output: () => output }
}

const killAll = (pids: ReadonlyArray<number>): void => {
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL")
    } catch {
      // It has ended.
    }
  }
}

export const make = Effect.fn("TorchProcess.make")(function* (
  options: Options
): Effect.fn.Return<TorchProcess, TrainerError, FileSystem.FileSystem | Path.Path | Scope.Scope> {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const folder = yield* Effect.mapError(
    fs.makeTempDirectoryScoped({ prefix: "atropos-torch-" }),
    (cause) =>
      new TrainerError({
        reason: "engine",
        message: `--engine torch: no folder for its socket: ${cause.message}`,
        cause
      })
  )
  const path = join(folder, "socket")
  const pending = makePending()
  const ready = pending.add()
  const closed = yield* Deferred.make<void>()
  let connection: Socket | undefined
  let pids: ReadonlyArray<number> = []

  const server = createServer((socket) => {
    connection = socket
    socket.on("data", TorchFrames.decoder(pending.take))
    // The process's end, which follows, has the reason.
    socket.on("error", () => undefined)
  })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => void server.listen(path, () => resume(Effect.void))),
    () => Effect.sync(() => void server.close())
  )
  const { child, output, program } = spawnChild(options, folder, path)
  child.once("error", (cause) => {
    const message = `--engine torch: ${program} cannot be started: ${cause.message}. Install Python 3.11 or newer and run npx @atropos/cli torch install, or name one with --python`
    pending.end(new TrainerError({ reason: "settings", message, cause }))
    Deferred.doneUnsafe(closed, Effect.void)
  })
  child.once("close", (code, signal) => {
    // torchrun's workers are in sessions of their own and may outlive it; without the socket they end.
    connection?.destroy()
    pending.end(TorchExit.explain({ program, output: output(), code, signal, wasReady: pids.length > 0 }))
    Deferred.doneUnsafe(closed, Effect.void)
  })
  const kill = Effect.sync(() => killAll([...(child.pid === undefined ? [] : [-child.pid]), ...pids]))
  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      pending.end(new TrainerError({ reason: "engineLost", message: "--engine torch: the engine was closed" }))
      if (connection === undefined) yield* kill
      else connection.end()
      yield* Effect.timeoutOrElse(Deferred.await(closed), { duration: grace, orElse: () => kill })
      yield* Deferred.await(closed)
    })
  )

  const { header } = yield* Effect.catchTag(ready.answer, "OutOfMemory", ({ message }) =>
    Effect.fail(new TrainerError({ reason: "engine", message }))
  )
  // Written by our own program.
  const about = header as unknown as About
  pids = about.pids
  return {
    about,
    isAlive: () => pending.ended() === undefined,
    kill,
    send: (request, tensors) =>
      Effect.suspend(() => {
        const ended = pending.ended()
        if (ended !== undefined) return Effect.fail(ended)
        const { answer, id } = pending.add()
        for (const part of TorchFrames.encode({ ...request, id }, tensors)) connection!.write(part)
        return Effect.succeed(answer)
      })
  }
})
