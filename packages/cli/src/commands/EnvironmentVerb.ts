/** What the verbs that run an environment have in common: `--env`, `--config`, and the flags of its settings and servers. */
import { EnvironmentSettings, type MetricsSettings, ServerSettings } from "@atropos/core"
import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import * as ConfigFile from "../config/ConfigFile.ts"
import * as Environments from "../config/Environments.ts"
import * as Flags from "../config/Flags.ts"
import * as Metrics from "../config/Metrics.ts"
import * as OtherServers from "../config/OtherServers.ts"
import * as RunSettings from "../config/RunSettings.ts"
import * as Words from "../config/Words.ts"
import { type Failure, UsageError } from "../Failure.ts"
import type { MakeVerb } from "./Verb.ts"

export interface EnvironmentVerb<Own extends Command.Command.Config> {
  readonly name: string
  /** Flags of the verb itself. */
  readonly own: Own
  readonly ownBooleans?: ReadonlyArray<string>
  readonly examples: ReadonlyArray<Command.Command.Example>
  /** Settings that the verb puts above the environment's defaults and below file and flags. */
  readonly mode?: (environment: string) => { readonly [name: string]: unknown }
  /** The same for its metrics. */
  readonly metricsMode?: { readonly [name: string]: unknown }
  readonly handle: (
    settings: RunSettings.RunSettings,
    own: Command.Command.Config.Infer<Own>,
    metrics: MetricsSettings.MetricsSettings
  ) => Effect.Effect<void, Failure, Command.Environment>
}

const commonFields: Environments.RunnableEnvironment["settings"]["fields"] = EnvironmentSettings.commonFields

/** The verb for these words. */
export const make =
  <const Own extends Command.Command.Config>(verb: EnvironmentVerb<Own>): MakeVerb =>
  (words) =>
    Effect.gen(function* () {
      const word = Words.peek(words, "env")
      const chosen = word === undefined ? undefined : yield* Environments.choose(word)
      const env = Flags.fromFields("env.", chosen?.environment.settings.fields ?? commonFields)
      const openai = Flags.fromFields("openai.", ServerSettings.serverFields)
      const others = OtherServers.flags(chosen === undefined ? [] : [chosen])
      const manager = Flags.fromFields("", ServerSettings.managerFields)
      const command = Command.make(
        verb.name,
        {
          env: Flag.String("env").pipe(
            Flag.withDescription("environment: a name (envs lists them) or a file; its own flags are listed with it"),
            Flag.withMetavar("name|file")
          ),
          config: ConfigFile.flag,
          own: verb.own,
          settings: env.flags,
          openai: openai.flags,
          others: others.flags,
          manager: manager.flags,
          metrics: Metrics.flags
        },
        (input) =>
          Effect.gen(function* () {
            if (chosen === undefined) return yield* new UsageError({ message: "--env is missing" })
            const settings = yield* RunSettings.make(
              input.env,
              chosen,
              {
                config: input.config,
                env: Flags.given(input.settings),
                servers: { openai: Flags.given(input.openai), ...OtherServers.given(input.others) },
                manager: Flags.given(input.manager)
              },
              verb.mode?.(chosen.environment.environmentName)
            )
            const metrics = yield* Metrics.make(input.metrics, settings.sections["metrics"], verb.metricsMode)
            // The parser's type for a generic nested config does not reduce; it is the same object.
            yield* verb.handle(settings, input.own as Command.Command.Config.Infer<Own>, metrics)
          })
      ).pipe(Command.withExamples(verb.examples))
      return {
        command,
        booleans: new Set(
          [env, openai, others, manager, Metrics].flatMap(({ booleans }) => booleans).concat(verb.ownBooleans ?? [])
        ),
        spell: Metrics.spell
      }
    })
