/**
 * Filters everything the command prints, results, logs and errors alike: no secrets and no terminal control sequences.
 * The last lines are kept for the page of the service (`ConsoleLines`).
 */
import { ConsoleLines } from "@atropos/core/base/ConsoleLines"
import { inspect, stripVTControlCharacters } from "node:util"
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { redact, Secrets } from "./Secrets.ts"
import * as Terminal from "./Terminal.ts"

type Print = (...parts: ReadonlyArray<unknown>) => void

/**
 * Formats a value as Node does, with colours only if its text contains no control sequences: they could not be
 * distinguished from injected ones.
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

export const provide = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    const secrets = yield* Secrets
    const console = yield* Console.Console
    const clock = yield* Clock.Clock
    const lines = yield* ConsoleLines
    const safe =
      (print: Print): Print =>
      (...parts) => {
        const text = redact(parts.map(textOf).join(" "), secrets)
        lines.add(clock.currentTimeMillisUnsafe(), stripVTControlCharacters(text))
        // A single argument is not a format string, even if it contains percent signs.
        print(text)
      }
    const safeConsole: Console.Console = Object.assign(Object.create(console), {
      debug: safe((...parts) => console.debug(...parts)),
      error: safe((...parts) => console.error(...parts)),
      info: safe((...parts) => console.info(...parts)),
      log: safe((...parts) => console.log(...parts)),
      warn: safe((...parts) => console.warn(...parts))
    })
    return yield* Effect.provideService(effect, Console.Console, safeConsole)
  })
