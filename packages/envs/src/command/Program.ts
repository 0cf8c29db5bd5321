/**
 * Runs a program once: its input, its output, and how it ended.
 *
 * It leads its own process group, and nothing of it outlives the run, even if this process is killed
 * (`ProcessSupervisor`). It is started through a shell that waits for a signal: the program begins only once it is
 * watched.
 */
import { spawn } from "node:child_process"
import type { Readable, Writable } from "node:stream"
import * as Reason from "@atropos/core/base/Reason"
import * as Waiting from "@atropos/core/base/Waiting"
import { Deferred, Effect, type Scope } from "effect"
import { ProgramError, type ProcessSupervisor } from "./ProcessSupervisor.ts"
import * as Words from "../base/Words.ts"

export interface Options {
  readonly supervisor: ProcessSupervisor
  readonly words: ReadonlyArray<string>
  readonly folder: string
  readonly variables: { readonly [name: string]: string }
  readonly input: string
  /** Keeps its input open while it runs; it closes if this process is killed. */
  readonly holdsInput?: boolean
  /** If interrupted, closes the held input, and waits so many milliseconds for it to end. */
  readonly endsWithin?: number
  /** Limit for both outputs together; a program that prints more is ended. */
  readonly outputBytes: number
  readonly memoryBytes?: number
  /** Owned by the caller, so that it is available even if the run was interrupted. */
  readonly output: Output
}

export interface Output {
  readonly add: (stream: "stdout" | "stderr", bytes: Uint8Array) => void
  readonly stdout: () => string
  /** The end of stderr, for error messages. */
  readonly complaint: () => string
}

/** The ending: an exit code, or stopped by a signal or a limit. */
export type Ending =
  | { readonly _tag: "Exited"; readonly code: number }
  | { readonly _tag: "Stopped"; readonly why: string }

/** A finished run with its output; without an ending it was cut short. */
export interface Printed {
  readonly ending: Ending | undefined
  readonly stdout: string
  readonly complaint: string
}

const complaintLength = 2000

export const makeOutput = (): Output => {
  const printed: Array<Uint8Array> = []
  let complaint = ""
  const decoder = new TextDecoder()
  return {
    add: (stream, bytes) => {
      if (stream === "stdout") printed.push(bytes)
      else complaint = (complaint + decoder.decode(bytes, { stream: true })).slice(-complaintLength)
    },
    stdout: () => new TextDecoder().decode(Buffer.concat(printed)),
    complaint: () => complaint.trim()
  }
}

/** Disables core files; waits for a line on descriptor 3, which the program itself does not inherit. */
export const gate = 'ulimit -c 0; read -r go <&3 || exit 125; exec 3<&-; exec "$@"'

const drained = "5 seconds"

/** Runs it to its end; interruption ends it. */
export const run = Effect.fn("Program.run")((options: Options) =>
  Effect.scoped(
    Effect.gen(function* () {
      // Closes after the inner scope, which ends every process that holds the outputs open.
      const closed = yield* Deferred.make<void>()
      const ending = yield* Effect.scoped(Effect.flatMap(start(options, closed), Deferred.await))
      yield* Effect.timeoutOption(Deferred.await(closed), drained)
      return ending
    })
  )
)

const start = Effect.fnUntraced(function* (
  {
    endsWithin,
    folder,
    holdsInput = endsWithin !== undefined,
    input,
    memoryBytes,
    output,
    outputBytes,
    variables,
    supervisor,
    words
  }: Options,
  closed: Deferred.Deferred<void>
): Effect.fn.Return<Deferred.Deferred<Ending, ProgramError>, ProgramError, Scope.Scope> {
  const ending = yield* Deferred.make<Ending, ProgramError>()
  const printed = yield* Deferred.make<void>()
  const watch = yield* supervisor.watch(memoryBytes === undefined ? {} : { memoryBytes })
  const stop = (why: string): void => void Deferred.doneUnsafe(ending, Effect.succeed<Ending>({ _tag: "Stopped", why }))
  const child = yield* Effect.try({
    try: () =>
      spawn("/bin/sh", ["-c", gate, "sh", ...words], {
        cwd: folder,
        env: { ...variables, ...watch.mark },
        stdio: ["pipe", "pipe", "pipe", "pipe"],
        detached: true
      }),
    catch: (cause) => cannotRun(words, cause)
  })
  // In the order requested.
  const [stdin, stdout, stderr, word] = child.stdio as unknown as readonly [Writable, Readable, Readable, Writable]
  yield* Effect.addFinalizer(() => Effect.sync(() => word.destroy()))
  for (const pipe of [stdin, stdout, stderr, word]) {
    // A pipe breaks when the program ends, which is reported below.
    pipe.on("error", () => undefined)
  }
  stdout.once("close", () => Deferred.doneUnsafe(printed, Effect.void))
  let bytesLeft = outputBytes
  for (const [name, pipe] of [
    ["stdout", stdout],
    ["stderr", stderr]
  ] as const) {
    pipe.on("data", (bytes: Uint8Array) => {
      output.add(name, bytes.subarray(0, Math.max(0, bytesLeft)))
      bytesLeft -= bytes.length
      if (bytesLeft < 0) stop(`printed more than ${outputBytes} bytes`)
    })
  }
  child
    .once("error", (cause) => Deferred.doneUnsafe(ending, Effect.fail(cannotRun(words, cause))))
    .once("exit", (code, signal) =>
      code === null
        ? stop(`was killed by ${signal}`)
        : Deferred.doneUnsafe(ending, Effect.succeed<Ending>({ _tag: "Exited", code }))
    )
    .once("close", () => {
      Deferred.doneUnsafe(closed, Effect.void)
    })
  if (child.pid !== undefined) {
    watch.began(child.pid)
    word.end("go\n")
    if (holdsInput) stdin.write(input)
    else stdin.end(input)
  }
  if (endsWithin !== undefined) {
    const end = Effect.suspend(() => {
      stdin.end()
      return Waiting.within(Deferred.await(printed), endsWithin)
    })
    // Runs before its processes are ended.
    yield* Effect.addFinalizer(() =>
      Effect.flatMap(Deferred.isDone(ending), (hasEnded) => (hasEnded ? Effect.void : end))
    )
  }
  yield* Deferred.await(watch.tooLarge).pipe(
    Effect.map((bytes) => stop(`used ${Math.round(bytes / 1e6)} MB of memory`)),
    Effect.forkScoped
  )
  return ending
})

const cannotRun = (words: ReadonlyArray<string>, cause: unknown) =>
  new ProgramError({ message: `cannot run ${Words.join(words)}: ${Reason.of(cause)}`, cause })
