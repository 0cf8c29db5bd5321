/**
 * Ensures that child processes, their descendants, temporary folders and what a command removes do not outlive this
 * process, even after kill -9.
 *
 * A separate process does the work (`supervisorProcess`), one for all programs of an environment; it starts with the
 * first one and is informed of each before that begins. If it is killed, it is restarted and informed of the running
 * programs.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { createInterface } from "node:readline"
import type { Readable, Writable } from "node:stream"
import { fileURLToPath } from "node:url"
import * as Reason from "@atropos/core/base/Reason"
import { Deferred, Effect, Option, Schema, type Scope } from "effect"

/** Raised if a program cannot be run; failures of the program itself are not this error. */
export class ProgramError extends Schema.TaggedError<ProgramError>()("ProgramError", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

export interface Watch {
  /** A variable that the program must be started with; identifies all processes it starts. */
  readonly mark: { readonly ATROPOS_PROGRAM: string }
  /** Reports its start, as the leader of a process group. */
  readonly began: (pid: number) => void
  /** Completes when it exceeds its memory limit. */
  readonly tooLarge: Deferred.Deferred<number>
}

export interface WatchOptions {
  /** Memory limit for all its processes together; absent: no limit. */
  readonly memoryBytes?: number
}

export interface ProcessSupervisor {
  /** Watches one program until the scope closes, which ends all its processes. */
  readonly watch: (options: WatchOptions) => Effect.Effect<Watch, ProgramError, Scope.Scope>
  /** A folder that is removed with the scope, or when this process is killed. */
  readonly folder: (path: string) => Effect.Effect<void, ProgramError, Scope.Scope>
  /** A command to run if this process is killed within the scope, after all programs have been ended. */
  readonly ifKilled: (command: Command) => Effect.Effect<void, ProgramError, Scope.Scope>
}

export interface Command {
  readonly words: ReadonlyArray<string>
  readonly variables: { readonly [name: string]: string }
}

type Process = ChildProcessByStdio<Writable, Readable, null>

interface Known extends WatchOptions {
  readonly pid?: number
  readonly tooLarge: Deferred.Deferred<number>
  readonly ended: Deferred.Deferred<boolean>
}

const isSource = import.meta.url.endsWith(".ts")
const script = fileURLToPath(new URL(isSource ? "supervisorProcess.ts" : "supervisorProcess.js", import.meta.url))

const patience = "10 seconds"

const Answer = Schema.fromJsonString(
  Schema.Union([
    Schema.Struct({ ended: Schema.String, isGone: Schema.Boolean }),
    Schema.Struct({ tooLarge: Schema.String, bytes: Schema.Finite })
  ])
)
const readAnswer = Schema.decodeUnknownSync(Answer)

/** The watcher for all programs of a scope; its process starts with the first of them. */
export const make: Effect.Effect<ProcessSupervisor, never, Scope.Scope> = Effect.gen(function* () {
  const known = new Map<string, Known>()
  const ending = new Set<string>()
  const folders = new Set<string>()
  const commands = new Map<string, Command>()
  let current: Process | undefined
  let isOver = false

  const hear = (line: string): void => {
    const answer = readAnswer(line)
    const one = known.get("ended" in answer ? answer.ended : answer.tooLarge)
    if (one === undefined) return
    if ("ended" in answer) Deferred.doneUnsafe(one.ended, Effect.succeed(answer.isGone))
    else Deferred.doneUnsafe(one.tooLarge, Effect.succeed(answer.bytes))
  }

  // The reader, `readline`, also ends a line at the separators of Unicode, which may be in a path.
  const send = (what: object): void => {
    const line = JSON.stringify(what).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029")
    started().stdin.write(`${line}\n`)
  }
  const watch = (id: string): void => {
    const { memoryBytes, pid } = known.get(id) ?? {}
    send({ watch: id, ...(memoryBytes !== undefined && { memoryBytes }), ...(pid !== undefined && { pid }) })
  }

  /** The process, restarted if it has ended, and then informed of everything known. */
  const started = (): Process => {
    if (current !== undefined) return current
    const one = spawn(process.execPath, [script], {
      stdio: ["pipe", "pipe", "ignore"],
      // Keeps signals of the terminal, and a kill of this process's group, from it.
      detached: true,
      env: {}
    })
    current = one
    one.stdin.on("error", () => undefined)
    createInterface({ input: one.stdout }).on("line", hear)
    const gone = () => {
      if (current !== one) return
      current = undefined
      if (!isOver && known.size + folders.size + commands.size > 0) started()
    }
    one.once("exit", gone).once("error", gone)
    for (const folder of folders) send({ folder })
    for (const [command, how] of commands) send({ command, ...how })
    for (const id of known.keys()) watch(id)
    for (const id of ending) send({ end: id })
    return one
  }

  const begin = (id: string, one: Known): Effect.Effect<void, ProgramError> =>
    Effect.try({
      try: () => {
        started()
        known.set(id, one)
        watch(id)
      },
      catch: cannotStart
    })

  const end = Effect.fnUntraced(function* (id: string, { ended }: Known) {
    ending.add(id)
    send({ end: id })
    const isGone = yield* Effect.timeoutOption(Deferred.await(ended), patience)
    const pid = known.get(id)?.pid
    ending.delete(id)
    known.delete(id)
    if (!Option.getOrElse(isGone, () => false)) yield* Effect.logWarning("program not killed", { pid })
  })

  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      isOver = true
      current?.stdin.end()
      current?.unref()
    })
  )

  return {
    watch: Effect.fnUntraced(function* (options) {
      const id = randomBytes(16).toString("hex")
      const tooLarge = yield* Deferred.make<number>()
      const one: Known = { ...options, tooLarge, ended: yield* Deferred.make<boolean>() }
      yield* Effect.acquireRelease(begin(id, one), () => end(id, one))
      return {
        mark: { ATROPOS_PROGRAM: id },
        began: (pid) => {
          known.set(id, { ...one, pid })
          watch(id)
        },
        tooLarge
      }
    }),
    folder: (path) =>
      until(
        () => {
          folders.add(path)
          send({ folder: path })
        },
        () => {
          folders.delete(path)
          send({ left: path })
        }
      ),
    ifKilled: (command) => {
      const id = randomBytes(16).toString("hex")
      return until(
        () => {
          commands.set(id, command)
          send({ command: id, ...command })
        },
        () => {
          commands.delete(id)
          send({ left: id })
        }
      )
    }
  }
})

/** Begins something that ends with the scope. */
const until = (begin: () => void, end: () => void): Effect.Effect<void, ProgramError, Scope.Scope> =>
  Effect.acquireRelease(Effect.try({ try: begin, catch: cannotStart }), () => Effect.sync(end))

const cannotStart = (cause: unknown) =>
  new ProgramError({ message: `cannot start the cleanup process: ${Reason.of(cause)}`, cause })
