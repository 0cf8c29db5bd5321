/** Defines the root command. Only the requested subcommand is loaded; completions load all of them. */
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import { LogToStderr } from "effect/Logger"
import * as Option from "effect/Option"
import * as References from "effect/References"
import * as Command from "effect/cli/Command"
import packageJson from "../package.json" with { type: "json" }
import { type CommandEntry, commands } from "./Commands.ts"
import type { CliCommand } from "./commands/CliCommand.ts"
import * as Words from "./config/Words.ts"
import * as HelpFlags from "./help/HelpFlags.ts"
import * as Report from "./base/Report.ts"
import * as SafeConsole from "./base/SafeConsole.ts"
import { Secrets } from "./base/Secrets.ts"

export const version: string = packageJson.version

const placeholder = (name: string, { description }: CommandEntry): CliCommand => ({
  command: Command.make(name).pipe(Command.withDescription(description))
})

const load = Effect.fn("Root.load")(function* (name: string, entry: CommandEntry, words: ReadonlyArray<string>) {
  const { make } = yield* Effect.promise(entry.load)
  const loaded = yield* make(words)
  return { ...loaded, command: loaded.command.pipe(Command.withDescription(entry.description)) }
})

/** Commands that run until they are stopped and log meanwhile; the others show a progress bar or a result. */
const runsUntilStopped: ReadonlySet<string | undefined> = new Set(["api", "serve", "policy", "gateway", "train"])

const secretVariables = ["OPENAI_API_KEY", "HF_TOKEN", "ATROPOS_TOKEN", "WANDB_API_KEY"]

const runCommand = Effect.fn("Root.runCommand")(function* (words: ReadonlyArray<string>) {
  const secrets = yield* Secrets
  for (const name of secretVariables) {
    const value = yield* Effect.orDie(Config.option(Config.String(name)))
    if (Option.isSome(value)) secrets.add(value.value)
  }
  const selected = Words.subcommand(words)
  const wantsAll = words.some((word) => word.startsWith("--completions"))
  const made = yield* Effect.forEach(Object.entries<CommandEntry>(commands), ([name, entry]) =>
    wantsAll || name === selected ? load(name, entry, words) : Effect.succeed(placeholder(name, entry))
  )
  const root = Command.make("atropos").pipe(
    Command.withDescription(
      "Reinforcement learning for language models: environments, a trajectory service and a trainer"
    ),
    Command.withSubcommands(made.map(({ command }) => command))
  )
  const loaded = made.find(({ command }) => command.name === selected)
  const normalized = Words.normalizeBooleans(
    loaded?.normalizeArgs?.(words) ?? words,
    loaded?.booleans ?? new Set<string>()
  )
  yield* Command.runWith(root, { version })(normalized).pipe(
    // Results go to standard output, logs to standard error.
    Effect.provideService(LogToStderr, true),
    Effect.provideService(References.MinimumLogLevel, runsUntilStopped.has(selected) ? "Info" : "Warn")
  )
})

/**
 * Runs the command with these arguments (without `node` and the script). Errors are printed, without secrets and
 * terminal control sequences.
 */
export const run = (words: ReadonlyArray<string>) =>
  Effect.raceFirst(runCommand(words.map((word) => (word === "--help-all" ? "--help" : word))), Report.strayError).pipe(
    Effect.tapCause(Report.print(Words.argValue(words, "log-level"))),
    Effect.provideService(HelpFlags.isWhole, words.includes("--help-all")),
    SafeConsole.provide
  )
