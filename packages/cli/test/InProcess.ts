/**
 * The command in the process of the test: the same words, parser, output and exit codes as `Bin`'s, without the second
 * that a process of its own costs. What a kill, a signal, a loader of Node or a process's memory does is for `Bin`.
 */
import { ConfigProvider, Effect, Fiber, type FileSystem, type Scope } from "effect"
import { PassThrough } from "node:stream"
import * as Waits from "../../core/test/base/Waits.ts"
import * as Report from "../src/base/Report.ts"
import * as Program from "../src/Program.ts"
import * as Bin from "./Bin.ts"

const settings = (own: Record<string, string>) => {
  const ours = Object.entries({ ...process.env, ...Bin.clean, ...own }).filter(([, value]) => value !== undefined)
  return ConfigProvider.layer(
    ConfigProvider.fromEnv({ env: Object.fromEntries(ours) as unknown as Record<string, string> })
  )
}

/** The two streams of a command, which keep what was written. */
const streams = () => {
  const parts = { stdout: "", stderr: "" }
  const watchers = new Set<() => void>()
  const kept = (name: keyof typeof parts) => {
    const stream = new PassThrough({ encoding: "utf8" })
    stream.on("data", (part: string) => {
      parts[name] += part
      for (const watcher of watchers) watcher()
    })
    // Of a terminal's or file's stream the command uses what every stream has.
    return stream as unknown as NodeJS.WriteStream
  }
  const says = (what: RegExp) =>
    Effect.callback<RegExpExecArray>((resume) => {
      const watcher = () => {
        const said = what.exec(parts.stdout) ?? what.exec(parts.stderr)
        if (said !== null) resume(Effect.succeed(said))
      }
      watchers.add(watcher)
      watcher()
      return Effect.sync(() => void watchers.delete(watcher))
    })
  return { parts, says, stdout: kept("stdout"), stderr: kept("stderr") }
}

/** Starts the command in the folder of `folder`; it is interrupted with the scope. */
export const start = Effect.fn("InProcess.start")(function* (
  words: ReadonlyArray<string>,
  env: Record<string, string> = {}
) {
  const { parts, says, stderr, stdout } = streams()
  const ending: Report.Ending = { isDone: false }
  const program = Program.run(words, { stdout, stderr }, ending).pipe(Effect.provide(settings(env)))
  const fiber = yield* Effect.forkScoped(program)
  /** Waits for the end: exit code and what was printed. */
  const ended = Effect.gen(function* () {
    const exit = yield* Fiber.await(fiber)
    const code = yield* Effect.callback<number>((resume) =>
      Report.teardown(exit, (code) => resume(Effect.succeed(code)), ending)
    )
    return { code, ...parts }
  })
  const silent = (why: string) => Effect.die(new Error(`${why}. It said:\n${parts.stdout}${parts.stderr}`))
  return {
    ended,
    /** Waits until it has said something; dies when it ends before. */
    says: (what: RegExp) =>
      says(what).pipe(
        Effect.raceFirst(Effect.andThen(ended, silent(`it ended without ${what}`))),
        Waits.named(`${what} of ${words.join(" ")}`, () => parts.stdout + parts.stderr)
      ),
    /** What Ctrl-C does. */
    interrupt: Effect.andThen(Fiber.interrupt(fiber), ended)
  }
})

/** Runs the command to its end in the folder of `folder`: exit code and what it printed. */
export const run = Effect.fn("InProcess.run")(function* (words: ReadonlyArray<string>, env?: Record<string, string>) {
  return yield* (yield* start(words, env)).ended
}, Effect.scoped)

/** A fresh folder, in which this process works until the scope closes. */
export const folder: Effect.Effect<string, unknown, FileSystem.FileSystem | Scope.Scope> = Effect.tap(
  Bin.folder,
  (cwd) =>
    Effect.acquireRelease(
      Effect.sync(() => {
        const before = process.cwd()
        process.chdir(cwd)
        return before
      }),
      (before) => Effect.sync(() => process.chdir(before))
    )
)
