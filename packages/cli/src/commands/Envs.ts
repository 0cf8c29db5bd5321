/**
 * `atropos envs [NAME|FILE]`: lists environments by family with their requirements; with a name, all settings of one.
 */
import { EnvironmentSettings, Settings } from "@atropos/core"
import { Console, Effect, Option, SchemaAST } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { CommandFailed, UsageError } from "../base/Failure.ts"
import * as CommandLine from "../base/CommandLine.ts"
import * as Environments from "../config/Environments.ts"
import * as Table from "../base/Table.ts"
import type { MakeCommand } from "./CliCommand.ts"

interface Setting {
  readonly name: string
  readonly default: unknown
  readonly description: string
  readonly isCommon: boolean
}

/** An environment's own settings first, then the common ones. */
const settingsOf = ({ settings }: Environments.RunnableEnvironment): ReadonlyArray<Setting> => {
  const common: { readonly [name: string]: unknown } = EnvironmentSettings.commonFields
  return Object.entries(settings.fields)
    .map(([field, schema]) => {
      const annotations = SchemaAST.resolve(schema.ast)
      return {
        name: Settings.wireName(field),
        default: annotations?.["default"],
        description: typeof annotations?.["description"] === "string" ? annotations["description"] : "",
        isCommon: common[field] === schema
      }
    })
    .sort((a, b) => Number(a.isCommon) - Number(b.isCommon))
}

const describe = ({ about, description, environment }: Environments.Chosen): unknown => ({
  name: environment.environmentName,
  description,
  ...(about && { family: about.family, needs: about.needs, data_licence: about.dataLicence }),
  settings: settingsOf(environment)
})

const needsOf = ({ about }: Environments.Chosen): string =>
  about === undefined || about.needs.length === 0 ? "nothing" : about.needs.join(", ")

const order = ({ about, environment }: Environments.Chosen): string =>
  `${about?.family ?? ""} ${environment.environmentName}`

/** Lists the entries of an environment's package or of a folder of tasks, one name per line. */
const listNames = Effect.fnUntraced(function* (
  environment: Option.Option<string>,
  input: { readonly python: Option.Option<string>; readonly tasks: Option.Option<string> },
  json: boolean
) {
  const about = Option.isSome(environment) ? (yield* Environments.choose(environment.value)).about : undefined
  if (about?.names === undefined) {
    const those = Object.entries(Environments.builtIn).flatMap(([name, { names }]) =>
      names === undefined ? [] : [name]
    )
    return yield* new UsageError({ message: `--list is for environments with named parts: ${those.join(", ")}` })
  }
  const names = yield* Effect.mapError(
    about.names({ python: Option.getOrNull(input.python), tasks: Option.getOrNull(input.tasks) }),
    (cause) => new CommandFailed({ message: cause.message.replace(/--env\.(python|tasks)/, "--$1"), cause })
  )
  yield* Console.log(json ? JSON.stringify(names, null, 2) : names.join("\n"))
})

const name: string = "envs"

export const make: MakeCommand = () =>
  Effect.succeed({
    booleans: new Set(["json", "list"]),
    command: Command.make(
      name,
      {
        environment: Argument.String("environment").pipe(
          Argument.withDescription("environment to show in detail: a name or a file"),
          Argument.optional
        ),
        list: Flag.Boolean("list").pipe(
          Flag.withDescription(
            "with an environment of a Python package: list its data sets, worlds or games; with harbor: list tasks and their problems"
          ),
          Flag.withDefault(false)
        ),
        python: Flag.String("python").pipe(
          Flag.withDescription("with --list: Python interpreter with the package"),
          Flag.withMetavar("path"),
          Flag.optional
        ),
        tasks: Flag.String("tasks").pipe(
          Flag.withDescription("with harbor --list: the folder with the task directories"),
          Flag.withMetavar("folder"),
          Flag.optional
        ),
        json: Flag.Boolean("json").pipe(Flag.withDescription("print JSON"), Flag.withDefault(false))
      },
      Effect.fnUntraced(function* ({ environment, json, list, python, tasks }) {
        if (list) return yield* listNames(environment, { python, tasks }, json)
        if (Option.isSome(environment)) {
          const selected = yield* Environments.choose(environment.value, "environment")
          if (json) return yield* Console.log(JSON.stringify(describe(selected), null, 2))
          yield* Console.log(`${selected.environment.environmentName}: ${selected.description}`)
          if (selected.about !== undefined) {
            const { dataLicence, family } = selected.about
            yield* Console.log(`family: ${family}; needs: ${needsOf(selected)}; data licence: ${dataLicence}`)
          }
          yield* Console.log("")
          const rows = settingsOf(selected.environment).map((setting) => [
            `--env.${setting.name}`,
            setting.default === null ? "unset" : (JSON.stringify(setting.default) ?? ""),
            setting.description
          ])
          return yield* Console.log(Table.columns(["setting", "default", "meaning"], rows))
        }
        const all = Object.values(Environments.builtIn).map(Environments.ofEntry)
        if (json) return yield* Console.log(JSON.stringify(all.map(describe), null, 2))
        const rows = all
          .toSorted((a, b) => order(a).localeCompare(order(b)))
          .map((selected) => [
            selected.environment.environmentName,
            selected.about?.family ?? "",
            needsOf(selected),
            selected.about?.dataLicence ?? "",
            selected.description
          ])
        yield* Console.log(Table.columns(["name", "family", "needs", "data licence", "description"], rows))
        yield* Console.log(
          [
            "",
            `${CommandLine.of("envs NAME")} lists all settings`,
            `${CommandLine.of("init my-env")} creates your own, which you run by its path: --env ./my-env.ts`
          ].join("\n")
        )
      })
    ).pipe(
      Command.withExamples([
        { command: "atropos envs", description: "all environments, with what they need and their licences" },
        { command: "atropos envs gsm8k", description: "all settings of one environment, with defaults" }
      ])
    )
  })
