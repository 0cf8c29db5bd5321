/**
 * Shared parts of the commands that run an environment: `--env`, `--config`, and the flags of its settings and servers.
 */
import { EnvironmentSettings, type MetricsSettings, ServerSettings, Settings } from "@atropos/core"
import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import * as ConfigFile from "../config/ConfigFile.ts"
import * as Environments from "../config/Environments.ts"
import * as Flags from "../config/Flags.ts"
import * as Metrics from "../config/Metrics.ts"
import * as OtherServers from "../config/OtherServers.ts"
import * as RunSettings from "../config/RunSettings.ts"
import * as HelpFlags from "../help/HelpFlags.ts"
import * as Words from "../config/Words.ts"
import { type Failure, UsageError } from "../base/Failure.ts"
import type { MakeCommand } from "./CliCommand.ts"

export interface EnvironmentCommand<Own extends Command.Command.Config> {
  readonly name: string
  readonly own: Own
  readonly ownBooleans?: ReadonlyArray<string>
  readonly examples: ReadonlyArray<Command.Command.Example>
  /** Flags without effect in this command: not on its help page, and warned of if given. */
  readonly ignored?: ReadonlyArray<string>
  /** Flags that matter too little for its help page. */
  readonly unlisted?: ReadonlyArray<string>
  /** Flags that only `--help-all` lists for this command. */
  readonly advanced?: ReadonlyArray<string>
  /** Settings of the command, above the environment's defaults and below file and flags. */
  readonly mode?: (environment: string, isTesting: boolean) => { readonly [name: string]: unknown }
  /** The equivalent for its metrics. */
  readonly metricsMode?: { readonly [name: string]: unknown }
  /** An alternative to `--env` for naming the environment, read from the arguments. */
  readonly named?: (words: ReadonlyArray<string>) => Effect.Effect<Named, Failure, Command.Environment>
  /** Short names for settings of the environment, by wire name. */
  readonly aliases?: { readonly [name: string]: string }
  readonly handle: (
    settings: RunSettings.RunSettings,
    own: Command.Command.Config.Infer<Own>,
    metrics: MetricsSettings.MetricsSettings
  ) => Effect.Effect<void, Failure, Command.Environment>
}

export interface Named {
  readonly word: string
  readonly selected: Environments.Chosen
}

/** Flag names of the settings common to all environments. */
export const everyEnvironments: ReadonlySet<string> = new Set(
  Object.keys(EnvironmentSettings.commonFields).map((field) => `env.${Settings.wireName(field)}`)
)

/** Settings that only apply with a trajectory service. */
export const ofServing: ReadonlyArray<string> = [
  "batch_size",
  "eval_handling",
  "eval_limit_ratio",
  "inference_weight",
  "max_batches_offpolicy",
  "min_batch_allocation",
  "rollout_server_url",
  "steps_per_eval"
].map((name) => `env.${name}`)

/** Warns of flags that are given and ignored, which scripts that share them may do. */
export const warnIgnored = (
  command: string,
  words: ReadonlyArray<string>,
  ignored: ReadonlyArray<string>
): Effect.Effect<void> => {
  const given = words.flatMap((word) => {
    const name = /^--([^=]+)/.exec(word)?.[1]
    const plain = name?.replaceAll("-", "_")
    return ignored.some((one) => (one.endsWith(".") ? plain?.startsWith(one) : plain === one)) ? [`--${name}`] : []
  })
  return given.length === 0 ? Effect.void : Effect.logWarning(`atropos ${command} ignores ${given.join(", ")}`)
}

const commonFields: Environments.RunnableEnvironment["settings"]["fields"] = EnvironmentSettings.commonFields

const envFlag = Flag.String("env").pipe(
  Flag.withDescription("environment: a name (see atropos envs) or a file; --help-all lists its settings too"),
  Flag.withMetavar("name|file")
)

export const make =
  <const Own extends Command.Command.Config>(spec: EnvironmentCommand<Own>): MakeCommand =>
  (words) =>
    Effect.gen(function* () {
      const named = spec.named === undefined ? undefined : yield* spec.named(words)
      const word = named?.word ?? Words.argValue(words, "env")
      const selected = named?.selected ?? (word === undefined ? undefined : yield* Environments.choose(word))
      // The content of a config file is not known at this point.
      const modeDefaults = spec.mode?.(selected?.environment.environmentName ?? "NAME", words.includes("--testing"))
      const env = Flags.fromFields(
        "env.",
        selected?.environment.settings.fields ?? commonFields,
        modeDefaults,
        spec.aliases
      )
      const openai = Flags.fromFields("openai.", ServerSettings.serverFields)
      const others = OtherServers.flags(selected === undefined ? [] : [selected])
      const manager = Flags.fromFields("", ServerSettings.managerFields)
      const command = Command.make(
        spec.name,
        {
          env: named === undefined ? envFlag : Flag.String("env").pipe(Flag.withHidden, Flag.withDefault(named.word)),
          config: ConfigFile.flag,
          own: spec.own,
          settings: env.flags,
          openai: openai.flags,
          others: others.flags,
          manager: manager.flags,
          metrics: Metrics.flags
        },
        (input) =>
          Effect.gen(function* () {
            if (selected === undefined) return yield* new UsageError({ message: "--env is missing" })
            const settings = yield* RunSettings.make(
              input.env,
              selected,
              {
                config: input.config,
                env: Flags.provided(input.settings),
                servers: { openai: Flags.provided(input.openai), ...OtherServers.provided(input.others) },
                manager: Flags.provided(input.manager)
              },
              (_sections, isTesting) => spec.mode?.(selected.environment.environmentName, isTesting) ?? {}
            )
            const metrics = yield* Metrics.make(input.metrics, settings.sections["metrics"], spec.metricsMode)
            yield* warnIgnored(spec.name, words, spec.ignored ?? [])
            // The parser's type for a generic nested config does not reduce; it is the same object.
            yield* spec.handle(settings, input.own as Command.Command.Config.Infer<Own>, metrics)
          })
      ).pipe(
        Command.withExamples(spec.examples),
        Command.annotate(HelpFlags.Flags, {
          ignored: [...(spec.ignored ?? []), ...(spec.unlisted ?? [])],
          ...(spec.advanced !== undefined && { advanced: spec.advanced }),
          everyEnvironments
        })
      )
      return {
        command,
        booleans: new Set(
          [env, openai, others, manager, Metrics].flatMap(({ booleans }) => booleans).concat(spec.ownBooleans ?? [])
        ),
        normalizeArgs: Metrics.normalizeArgs
      }
    })
