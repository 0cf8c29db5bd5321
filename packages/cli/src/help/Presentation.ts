/**
 * Presents the parser's output: help on request; for a mistake only the mistake, with the nearest name and where to
 * find help.
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as CliOutput from "effect/cli/CliOutput"
import * as TerminalCapabilities from "effect/cli/TerminalCapabilities"
import type { NonShowHelpErrors } from "effect/cli/CliError"
import type { HelpDoc } from "effect/cli/HelpDoc"
import * as CommandLine from "../base/CommandLine.ts"
import * as HelpFlags from "./HelpFlags.ts"
import * as SettingHints from "../config/SettingHints.ts"
import * as Terminal from "../base/Terminal.ts"

/** Servers whose flags exist only if the environment uses them. */
const otherServers = ["judge", "teacher", "opponent"] as const

/** Rephrases the schema's description of a number, which addresses programmers. */
const inPlainWords = (expected: string): string =>
  expected.replace(/^Expected /, "").replace("a string representing a finite number", "a number")

/** True for a flag with one value that is given several times, of which the parser counts the values. */
const isRepeated = ({ expected, value }: { readonly expected: string; readonly value: string }): boolean =>
  expected === "at most 1 value" && value.endsWith(" occurrences")

const describe = (error: NonShowHelpErrors, { flags, globalFlags = [], subcommands = [] }: HelpDoc): string => {
  switch (error._tag) {
    case "UnrecognizedOption": {
      const known = [...flags, ...globalFlags].map(({ name }) => `--${name}`)
      const absent = otherServers.find((one) => error.option.startsWith(`--${one}.`))
      if (absent !== undefined && known.includes("--env") && !known.some((name) => name.startsWith(`--${absent}.`))) {
        return `unknown flag ${error.option.replace(/=.*/, "")}: this environment uses no ${absent}; ${CommandLine.of("envs")} lists what each one needs`
      }
      return `unknown flag ${error.option}${SettingHints.hint(error.option.replace(/=.*/, ""), known)}`
    }
    case "UnknownSubcommand": {
      const known = subcommands.flatMap(({ commands }) => commands.map(({ name }) => name))
      return `unknown command "${error.subcommand}"${SettingHints.hint(error.subcommand, known)}`
    }
    case "MissingOption":
      return `--${error.option} is missing`
    case "InvalidValue":
      if (isRepeated(error)) {
        const others = error.option === "env" ? ": give one (up trains on several)" : ": give it once"
        return `--${error.option} is given ${error.value.replace(" occurrences", " times")}${others}`
      }
      return error.value === ""
        ? `--${error.option} needs a value: ${error.expected}`
        : `--${error.option}: expected ${inPlainWords(error.expected)}, got "${error.value}"${SettingHints.value(error.option, error.value)}`
    case "MissingArgument":
      return `the argument <${error.argument}> is missing`
    case "UnexpectedArgument":
      return `unexpected argument: ${error.arguments.join(" ")}`
    default:
      return error.message
  }
}

/** Replaces the command's name in a line to type; a URL may contain it too. */
const typed = (line: string): string =>
  line.replace(/(^|\s)atropos(?=\s|$)/, (_, before) => before + CommandLine.of(""))

const formatDoc = ({ examples, usage, ...rest }: HelpDoc): HelpDoc => ({
  ...rest,
  usage: typed(usage),
  ...(examples !== undefined && {
    examples: examples.map((example) => ({ ...example, command: typed(example.command) }))
  })
})

/** Prints one line per mistake on standard error instead of a help page on standard output. */
export const layer = CliOutput.layerPresenter({
  present: Effect.fnUntraced(function* (event) {
    if (event._tag !== "InvalidInvocation") {
      const console = yield* Console.Console
      // Help and version use our own colours.
      const log = (text: string) => console.log(new Terminal.Coloured(text))
      if (event._tag === "Help") {
        const { canColor } = yield* TerminalCapabilities.TerminalCapabilities
        const { formatHelpDoc } = CliOutput.defaultFormatter({ colors: canColor })
        const page = (yield* HelpFlags.isWhole) ? HelpFlags.whole : HelpFlags.short
        return log(page(formatDoc(event.helpDoc), formatHelpDoc))
      }
      return yield* CliOutput.defaultPresenter
        .present(event)
        .pipe(Effect.provideService(Console.Console, Object.assign(Object.create(console), { log })))
    }
    for (const error of event.errors) yield* Console.error(`atropos: ${describe(error, event.helpDoc)}`)
    const hasEnvironment = event.helpDoc.flags.some(({ name }) => name === "env")
    const path = event.commandPath.slice(1).concat(hasEnvironment ? "--env NAME" : [], "--help")
    yield* Console.error(`see: ${CommandLine.of(path.join(" "))}`)
  })
})
