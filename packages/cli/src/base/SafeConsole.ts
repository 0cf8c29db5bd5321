/**
 * The one place where the command's words leave it, results, logs and errors alike: without secrets, and without
 * commands to the terminal.
 */
import { inspect } from "node:util"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { redact, Secrets } from "./Secrets.ts"
import * as Terminal from "./Terminal.ts"

type Print = (...parts: ReadonlyArray<unknown>) => void

/**
 * A value as Node shows it, in colours where all of its text is clean: they could not be told from those that somebody
 * else put in.
 */
const inspected = (value: unknown): string => {
  const plain = inspect(value)
  const clean = Terminal.escape(plain)
  return clean === plain && process.stderr.isTTY && Terminal.hasColours() ? inspect(value, { colors: true }) : clean
}

const textOf = (part: unknown): string => {
  if (typeof part === "string") return Terminal.escape(part)
  return part instanceof Terminal.Coloured ? part.text : inspected(part)
}

/** Runs an effect whose console is safe. */
export const provide = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    const secrets = yield* Secrets
    const console = yield* Console.Console
    const safe =
      (print: Print): Print =>
      (...parts) =>
        // One argument is no format, whatever percent signs it has.
        print(redact(parts.map(textOf).join(" "), secrets))
    const safeConsole: Console.Console = Object.assign(Object.create(console), {
      debug: safe((...parts) => console.debug(...parts)),
      error: safe((...parts) => console.error(...parts)),
      info: safe((...parts) => console.info(...parts)),
      log: safe((...parts) => console.log(...parts)),
      warn: safe((...parts) => console.warn(...parts))
    })
    return yield* Effect.provideService(effect, Console.Console, safeConsole)
  })
