/**
 * Runs a Python interpreter with the bridge (`bridge.py`): requests are lines, responses are matched by number.
 *
 * It leads its own process group, and nothing of it outlives the scope, nor this process even after kill -9
 * (`ProcessSupervisor`). When it ends, for any reason, every pending request fails with the last lines of its standard
 * error, and so does every later one.
 */
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import type { Readable, Writable } from "node:stream"
import { fileURLToPath } from "node:url"
import * as Reason from "@atropos/core/base/Reason"
import { Deferred, Effect, Option, Schema, type Scope } from "effect"
import { gate } from "../command/Program.ts"
import type { ProcessSupervisor } from "../command/ProcessSupervisor.ts"
import * as Words from "../base/Words.ts"
import { PythonError } from "./PythonError.ts"

/** Parses one line of the bridge: the response to a request, by its number. */
const Line = Schema.fromJsonString(
  Schema.Union([
    Schema.Struct({
      id: Schema.Int,
      error: Schema.String,
      kind: Schema.String,
      trace: Schema.Array(Schema.String),
      /** The distribution to install, if its name differs from the package's. */
      distribution: Schema.optionalKey(Schema.String)
    }),
    Schema.Struct({ id: Schema.Int, result: Schema.Unknown })
  ])
)
const decode = Schema.decodeUnknownOption(Line)

interface Answer {
  readonly id: number
  readonly result: Effect.Effect<unknown, PythonError>
}

/** Instructions to install a package for an interpreter; uv installs the packages it is given. */
const installation = (packageName: string, words: ReadonlyArray<string>): string =>
  words[0] === "uv"
    ? `name it in --env.packages '["${packageName}"]'`
    : `install it with ${Words.join(words)} -m pip install "${packageName}"`

/** The response in a line; undefined if it is not one. */
export const readAnswer = (line: string, packageName: string, words: ReadonlyArray<string>): Answer | undefined => {
  const answer = Option.getOrUndefined(decode(line))
  if (answer === undefined) return undefined
  if (!("error" in answer)) return { id: answer.id, result: Effect.succeed(answer.result) }
  const { distribution = packageName, error, id, kind, trace } = answer
  // The missing module may be a dependency that the package did not install.
  if (kind === "Unknown") {
    const message = error.replace("Unknown: ", "")
    return { id, result: Effect.fail(new PythonError({ reason: "unknown", message, trace: [] })) }
  }
  const isMissing = kind === "ModuleNotFoundError" || kind === "PackageNotFoundError" || kind === "NotInstalled"
  return {
    id,
    result: Effect.fail(
      isMissing
        ? new PythonError({
            reason: "notInstalled",
            message: `${Words.join(words)} lacks ${distribution} (${error.replace("NotInstalled: ", "")}); ${installation(distribution, words)}, or name another Python with --env.python`,
            trace
          })
        : new PythonError({ reason: "raised", message: [error, ...trace.slice(0, -1)].join("\n  "), trace })
    )
  }
}

export interface PythonProcess {
  readonly ask: (operation: string, values: object) => Effect.Effect<unknown, PythonError>
  readonly isAlive: () => boolean
}

export interface Options {
  readonly supervisor: ProcessSupervisor
  /** The interpreter, with the arguments before its script. */
  readonly words: ReadonlyArray<string>
  /** The distribution to install for the package. */
  readonly packageName: string
  readonly variables: { readonly [name: string]: string }
}

const isSource = import.meta.url.endsWith(".ts")
const script = fileURLToPath(new URL(isSource ? "bridge.py" : "../../src/python/bridge.py", import.meta.url))

const keptLines = 6

export const start = Effect.fn("PythonProcess.start")(function* ({
  packageName,
  variables,
  supervisor,
  words
}: Options): Effect.fn.Return<PythonProcess, PythonError, Scope.Scope> {
  const waiting = new Map<number, Deferred.Deferred<unknown, PythonError>>()
  const complaint: Array<string> = []
  let sent = 0
  let dead: PythonError | undefined

  const end = (error: PythonError): void => {
    if (dead !== undefined) return
    dead = error
    for (const one of waiting.values()) Deferred.doneUnsafe(one, Effect.fail(error))
    waiting.clear()
  }
  const ended = (how: string) =>
    new PythonError({
      reason: "ended",
      message: [`${Words.join(words)} ${how}`, ...complaint].join("\n  "),
      trace: Array.from(complaint)
    })

  const watch = yield* Effect.mapError(
    supervisor.watch({}),
    (cause) => new PythonError({ reason: "ended", message: cause.message, trace: [], cause })
  )
  const child = yield* Effect.try({
    try: () =>
      spawn("/bin/sh", ["-c", gate, "sh", ...words, "-u", script], {
        env: { ...variables, ...watch.mark },
        stdio: ["pipe", "pipe", "pipe", "pipe"],
        detached: true
      }),
    catch: (cause) =>
      new PythonError({
        reason: "notFound",
        message: `cannot run ${Words.join(words)}: ${Reason.of(cause)}`,
        trace: [],
        cause
      })
  })
  // In the order requested.
  const [stdin, stdout, stderr, word] = child.stdio as unknown as readonly [Writable, Readable, Readable, Writable]
  // A pipe breaks when the process ends, which is reported below.
  for (const pipe of [stdin, stdout, stderr, word]) pipe.on("error", () => undefined)
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      end(ended("was no longer needed"))
      for (const pipe of [stdin, word]) pipe.destroy()
    })
  )
  createInterface({ input: stderr }).on("line", (line) => {
    if (line.trim() === "") return
    complaint.push(line)
    if (complaint.length > keptLines) complaint.shift()
  })
  createInterface({ input: stdout }).on("line", (line) => {
    const answer = readAnswer(line, packageName, words)
    if (answer === undefined) return end(ended(`sent an invalid response: ${line.slice(0, 200)}`))
    const one = waiting.get(answer.id)
    waiting.delete(answer.id)
    if (one !== undefined) Deferred.doneUnsafe(one, answer.result)
  })
  child
    .once("error", (cause) => end(ended(`failed to run: ${Reason.of(cause)}`)))
    // After its outputs were read to their end.
    .once("close", (code, signal) =>
      end(
        code === 127 || code === 126
          ? new PythonError({
              reason: "notFound",
              message: `${packageName} needs Python, but ${words[0]} was not found: install Python 3 or uv, or name a Python with --env.python`,
              trace: Array.from(complaint)
            })
          : ended(code === null ? `was killed by ${signal}` : `exited with code ${code}`)
      )
    )
  if (child.pid !== undefined) {
    watch.began(child.pid)
    word.end("go\n")
  }

  return {
    isAlive: () => dead === undefined,
    ask: Effect.fnUntraced(function* (operation, values) {
      if (dead !== undefined) return yield* dead
      const id = ++sent
      const answer = yield* Deferred.make<unknown, PythonError>()
      waiting.set(id, answer)
      stdin.write(`${JSON.stringify({ id, op: operation, ...values })}\n`)
      return yield* Effect.onInterrupt(Deferred.await(answer), () =>
        Effect.sync(() => {
          // The request was abandoned: cancel it in the interpreter, too.
          if (waiting.delete(id)) stdin.write(`${JSON.stringify({ id, op: "cancel" })}\n`)
        })
      )
    })
  }
})
