/** Secret values this process was given, and a console that never prints them. */
import { formatWithOptions } from "node:util"
import * as Console from "effect/Console"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/** Filled where keys are read (flags, files, environment variables); read where text leaves the process. */
export const Secrets = Context.Reference<Set<string>>("@atropos/cli/Secrets", { defaultValue: () => new Set() })

/** Too short to be a key: `x` is what local servers are given. */
const shortestSecret = 6

/** `text` without the secrets, each replaced by `***`. */
export const redact = (text: string, secrets: Iterable<string>): string => {
  let clean = text
  for (const secret of secrets) if (secret.length >= shortestSecret) clean = clean.replaceAll(secret, "***")
  return clean
}

type Print = (...parts: ReadonlyArray<unknown>) => void

/** Runs an effect whose results, logs and errors are all cleared of secrets before they are printed. */
export const redacted = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    const secrets = yield* Secrets
    const console = yield* Console.Console
    const clean =
      (print: Print): Print =>
      (...parts) =>
        secrets.size === 0
          ? print(...parts)
          : print(redact(formatWithOptions({ colors: process.stderr.isTTY }, ...parts), secrets))
    const cleanConsole: Console.Console = Object.assign(Object.create(console), {
      debug: clean((...parts) => console.debug(...parts)),
      error: clean((...parts) => console.error(...parts)),
      info: clean((...parts) => console.info(...parts)),
      log: clean((...parts) => console.log(...parts)),
      warn: clean((...parts) => console.warn(...parts))
    })
    return yield* Effect.provideService(effect, Console.Console, cleanConsole)
  })
