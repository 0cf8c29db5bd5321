/** Loads a user's file as a module: an environment, a loss. */
import * as Reason from "@atropos/core/base/Reason"
import * as StackFrames from "@atropos/core/base/StackFrames"
import * as StrayErrors from "@atropos/core/base/StrayErrors"
import { Effect, FileSystem, Path } from "effect"
import { UsageError } from "../base/Failure.ts"
import { loader } from "./TypeScriptSource.ts"

/** Returns true if the argument is a path rather than a name. */
export const isPath = (word: string): boolean => /[./\\]/.test(word)

/** Describes a load error with its location; an error thrown by the file itself with its stack. */
const loadingFault = (cause: unknown, name: string, placeOfFault: () => string | undefined): string => {
  if (!(cause instanceof Error)) return Reason.of(cause)
  const stack = cause.stack ?? ""
  if (cause instanceof SyntaxError && /outside a module|^Unexpected token 'export'/.test(cause.message)) {
    return `${cause.message}: the package.json above it has "type": "commonjs" (the default of npm init), but "type": "module" is needed; or name the file ${name}`
  }
  const [, missing] = /^Cannot find package '([^']+)' imported from /.exec(cause.message) ?? []
  if (missing !== undefined) {
    // The packages that npx runs are not installed next to the file.
    return `${cause.message}: install it there, npm install ${missing}`
  }
  // These errors name their file.
  if (cause.name === "AliasError" || cause.name === "UnsupportedSyntax") return cause.message
  const place = StackFrames.place(stack) ?? (cause instanceof SyntaxError ? placeOfFault() : undefined)
  if (place === undefined) {
    return cause.message === "Invalid or unexpected token"
      ? `${cause.message}: if it is a decorator, which Node does not run: ${loader}`
      : cause.message
  }
  const [, type] = /does not provide an export named '([^']+)'$/.exec(cause.message) ?? []
  if (type !== undefined) {
    return `${cause.message} (${place}): if ${type} is a type, write import type { ${type} }, or export type where it is passed on`
  }
  return cause instanceof SyntaxError
    ? `${cause.message} (${place})`
    : `${cause.message} (${place})\n${StackFrames.trimmed(stack)}`
}

/** Loads the exports of the file; `flag` named it, for messages. */
export const load = Effect.fn("UserFile.load")(function* (flag: string, word: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const file = path.resolve(word)
  const isThere = yield* Effect.orElseSucceed(fs.exists(file), () => false)
  if (!isThere) {
    return yield* new UsageError({ message: `${flag} ${word}: file not found: ${file}` })
  }
  const url = yield* Effect.orDie(path.toFileUrl(file))
  const { placeOfFault, register } = yield* Effect.promise(() => import("./TypeScriptModules.ts"))
  register()
  const slow = Effect.delay(
    Effect.logWarning("still loading the file; does it await something that never completes?", { file, flag }),
    "10 seconds"
  )
  return yield* Effect.tryPromise({
    try: () => imported(url.href),
    catch: (cause) =>
      new UsageError({
        message: `${flag} ${word}: the file could not be loaded: ${loadingFault(cause, `${path.parse(file).name}.${/\.[cm]?ts$/.test(file) ? "mts" : "mjs"}`, placeOfFault)}`
      })
  }).pipe(Effect.raceFirst(Effect.andThen(slow, Effect.never)))
})

/** Imports a module; rejects if it throws, leaves a rejection unhandled or exits while it loads. */
const imported = (url: string): Promise<Record<string, unknown>> =>
  new Promise((resolve, reject) => {
    let isOver = false
    const loading = StrayErrors.owned(
      reject,
      () => import(url),
      () => isOver
    )
    const settle = async () => {
      try {
        return await loading
      } finally {
        // Node reports unhandled rejections once a module's microtasks are done.
        await new Promise((done) => setImmediate(done))
        isOver = true
      }
    }
    settle().then(resolve, reject)
  })
