/**
 * Runs interpreters of Python for WASI: no installation, identical on every system, no native packages.
 *
 * Compiled once and shared by all threads. A program sees an in-memory file system with the standard library and
 * nothing of this machine: processes, sockets and foreign functions do not exist in its world. Attacks tried:
 * docs/sandbox.md.
 */
import { MessageChannel, type ResourceLimits, type WorkerOptions } from "node:worker_threads"
import { Cause, Duration, Effect, Pool, Queue, type Scope } from "effect"
import * as Bell from "./Bell.ts"
import { type Ended, type Interpreters, type Judge, type Runner, SandboxError } from "./Interpreter.ts"
import { script } from "./PythonHarness.ts"
import * as SharedOutput from "./SharedOutput.ts"
import * as WasiPython from "./WasiPython.ts"
import type { FromThread, Peer, ThreadData, ToThread } from "./WasiThread.ts"
import { fileBeside, spawn } from "@atropos/core/base/Thread"

/**
 * Runs a worker thread as a scoped resource with a queue of its messages; it is terminated when the scope closes,
 * regardless of what it is doing.
 */
interface ThreadGone {
  readonly _tag: "ThreadGone"
  readonly outOfMemory: boolean
  readonly why: string
}

interface Thread<In, Out> {
  readonly post: (message: In, transfer?: WorkerOptions["transferList"]) => void
  readonly next: Effect.Effect<Out, ThreadGone>
}

/** Starts the thread of a file next to this one. */
const startWorker = <In, Out>(
  name: string,
  options: WorkerOptions
): Effect.Effect<Thread<In, Out>, SandboxError, Scope.Scope> =>
  Effect.gen(function* () {
    const url = fileBeside(import.meta.url, name)
    const messages = yield* Queue.unbounded<Out, ThreadGone>()
    const worker = yield* Effect.acquireRelease(
      Effect.try({
        try: () => spawn(url, options),
        catch: (cause) => new SandboxError({ message: `cannot start a thread from ${url.href}`, cause })
      }),
      (started) => Effect.promise(() => started.terminate())
    )
    const gone = (why: string, outOfMemory = false) =>
      Queue.failCauseUnsafe(messages, Cause.fail({ _tag: "ThreadGone", why, outOfMemory }))
    worker
      .on("message", (message: Out) => Queue.offerUnsafe(messages, message))
      .on("error", (error: Error & { readonly code?: string }) =>
        gone(error.message, error.code === "ERR_WORKER_OUT_OF_MEMORY")
      )
      .on("exit", (code) => gone(`exited with code ${code}`))
    return {
      // A worker thread, not a window, has no origin.
      // oxlint-disable-next-line unicorn/require-post-message-target-origin
      post: (message, transfer) => worker.postMessage(message, transfer),
      next: Queue.take(messages)
    }
  })

export interface Options {
  /** Max concurrent programs; as many judges may run in addition. */
  readonly workers: number
  readonly memoryBytes: number
  /** Max output of a run to stdout and stderr, each. */
  readonly outputBytes: number
}

const maxFileBytes = 32 * 2 ** 20
const idle = Duration.minutes(2)
const startTimeout = Duration.minutes(1)

/** The host's side of a run: bookkeeping of files and messages; the interpreter's memory is separate. */
const resourceLimits: ResourceLimits = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 }

const openControl = 'os.open("/dev/control", os.O_RDWR)'

const descriptors = [`control := ${openControl}`, "control", 'peer := os.open("/dev/peer", os.O_RDWR)', "peer"] as const

/**
 * This Python lacks `sleep`; `exit` and `quit` come with `site`, which is slower than everything else. `typing` is
 * preloaded, because most programs import it.
 */
const prelude = `
import _sitebuiltins, time, typing
builtins.exit, builtins.quit = _sitebuiltins.Quitter("exit", "Ctrl-D"), _sitebuiltins.Quitter("quit", "Ctrl-D")
def sleep(seconds, descriptor=os.open("/dev/sleep", os.O_WRONLY)):
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    os.write(descriptor, repr(float(seconds)).encode())
time.sleep = sleep
`

const scriptPath = (role: "judge" | "runner"): string => `/${role}.pyc`
const scripts = {
  [scriptPath("judge")]: script("judge", descriptors, prelude),
  [scriptPath("runner")]: script("runner", descriptors, prelude)
}

interface WasiRunner extends Runner, Line {}
interface WasiJudge extends Judge, Line {}
interface Line {
  readonly bell: Bell.Bell
  readonly post: (message: ToThread, transfer?: ReadonlyArray<Peer["port"]>) => void
}

/** Loaded and compiled by the first interpreter of this process: the same for all. */
let unpackedLibrary: ReadonlyMap<string, Uint8Array> | undefined

/** The interpreters, started when first needed and ended when idle. */
export const make = Effect.fn("Wasi.make")(function* ({ memoryBytes, outputBytes, workers }: Options) {
  const compiled = yield* remembered(WasiPython.load(memoryBytes))
  const outputSize = SharedOutput.bytesFor(outputBytes)

  const startThread = Effect.fn("Wasi.startThread")(function* (
    role: ThreadData["role"],
    script: string,
    files: ReadonlyMap<string, Uint8Array>
  ) {
    const module = yield* compiled
    const bell = Bell.make()
    const output = new SharedArrayBuffer(outputSize)
    const library = WasiPython.libraryFolder
    const data: ThreadData = { role, module, script, files, library, maxFileBytes, bell, output }
    const thread = yield* startWorker<ToThread, FromThread>("WasiThread", { workerData: data, resourceLimits })
    const post: Line["post"] = (message, transfer = []) => {
      thread.post(message, Array.from(transfer))
      Bell.ring(bell)
    }
    return { thread, bell, post, output: SharedOutput.over(output) }
  })

  const unpack = Effect.scoped(
    Effect.gen(function* () {
      const source = new TextEncoder().encode(WasiPython.unpacker(scripts, openControl))
      const { output, thread } = yield* startThread("unpacker", "/unpack.py", new Map([["/unpack.py", source]]))
      const message = yield* first(thread)
      if (message.type === "answer") return (unpackedLibrary = yield* WasiPython.unpacked(message.text))
      return yield* notStarted(SharedOutput.read(output, 2))
    })
  )
  const library = yield* remembered(
    Effect.suspend(() => (unpackedLibrary === undefined ? unpack : Effect.succeed(unpackedLibrary)))
  )
  const start = (role: "judge" | "runner") =>
    Effect.flatMap(library, (files) => startThread(role, scriptPath(role), files)).pipe(
      Effect.tap(({ thread }) => ready(thread))
    )

  const startRunner: Effect.Effect<WasiRunner, SandboxError, Scope.Scope> = Effect.map(
    start("runner"),
    ({ bell, output, post, thread }) => ({
      bell,
      post: (message, transfer) => {
        if (message.type === "run") SharedOutput.clear(output)
        post(message, transfer)
      },
      ready: ready(thread),
      ended: thread.next.pipe(
        Effect.map((message): Ended =>
          message.type === "ended" ? message.ended : { ending: "crashed", why: message.type }
        ),
        Effect.catch(({ outOfMemory, why }) => Effect.succeed<Ended>({ ending: "lost", why, outOfMemory }))
      ),
      output: () => ({ stdout: SharedOutput.read(output, 1), stderr: SharedOutput.read(output, 2) }),
      stop: () => post({ type: "stop" })
    })
  )

  const startJudge: Effect.Effect<WasiJudge, SandboxError, Scope.Scope> = Effect.map(
    start("judge"),
    ({ bell, post, thread }) => ({
      bell,
      post,
      ready: ready(thread),
      answer: thread.next.pipe(
        Effect.map((message) => (message.type === "answer" ? message.text : undefined)),
        Effect.orElseSucceed(() => undefined)
      ),
      abandon: (number, why) => post({ type: "abandon", number, why })
    })
  )

  const pool = { min: 0, max: workers, timeToLive: idle }
  return {
    runners: yield* Pool.makeWithTTL({ acquire: startRunner, ...pool }),
    judges: yield* Pool.makeWithTTL({ acquire: startJudge, ...pool }),
    scope: yield* Effect.scope,
    keepsRunners: true,
    begin: (runner, job, judging) => {
      if (judging === undefined) return runner.post({ type: "run", job, peer: undefined })
      const { port1, port2 } = new MessageChannel()
      judging.judge.post({ type: "judge", job: judging.job, peer: { port: port2, bell: runner.bell } }, [port2])
      runner.post({ type: "run", job, peer: { port: port1, bell: judging.judge.bell } }, [port1])
    }
  } satisfies Interpreters<WasiRunner, WasiJudge>
})

const notStarted = (why: string) => new SandboxError({ message: `Python for WASI did not start: ${why}` })

/** A thread's first message, or its first one after a run. */
const first = ({ next }: Thread<ToThread, FromThread>): Effect.Effect<FromThread, SandboxError> =>
  next.pipe(
    Effect.mapError(({ why }) => notStarted(why)),
    Effect.timeoutOrElse({
      duration: startTimeout,
      orElse: () => Effect.fail(notStarted(`no response within ${Duration.format(startTimeout)}`))
    })
  )

const ready = (thread: Thread<ToThread, FromThread>): Effect.Effect<void, SandboxError> =>
  Effect.flatMap(first(thread), (message) =>
    message.type === "ready" ? Effect.void : Effect.fail(notStarted(JSON.stringify(message)))
  )

/** Runs once; a failure is retried on the next use. */
const remembered = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.cachedInvalidateWithTTL(effect, Duration.infinity), ([result, forget]) =>
    Effect.tapCause(result, () => forget)
  )
