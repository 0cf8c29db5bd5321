/**
 * `atropos envs [NAME|FILE]`: the environments there are, by family, with what they need; with a name, all settings of
 * one.
 */
import { EnvironmentSettings, Settings } from "@atropos/core"
import { Console, Effect, Option, SchemaAST } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as CommandLine from "../base/CommandLine.ts"
import * as Environments from "../config/Environments.ts"
import * as Table from "../base/Table.ts"
import type { MakeVerb } from "./Verb.ts"

interface Setting {
  readonly name: string
  readonly default: unknown
  readonly description: string
  readonly isCommon: boolean
}

/** An environment's own settings first, then those all have. */
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

const name: string = "envs"

export const make: MakeVerb = () =>
  Effect.succeed({
    booleans: new Set(["json"]),
    command: Command.make(
      name,
      {
        environment: Argument.String("environment").pipe(
          Argument.withDescription("environment to show in detail: a name or a file"),
          Argument.optional
        ),
        json: Flag.Boolean("json").pipe(Flag.withDescription("print JSON"), Flag.withDefault(false))
      },
      Effect.fnUntraced(function* ({ environment, json }) {
        if (Option.isSome(environment)) {
          const chosen = yield* Environments.choose(environment.value, "environment")
          if (json) return yield* Console.log(JSON.stringify(describe(chosen), null, 2))
          yield* Console.log(`${chosen.environment.environmentName}: ${chosen.description}`)
          if (chosen.about !== undefined) {
            const { dataLicence, family } = chosen.about
            yield* Console.log(`family: ${family}; needs: ${needsOf(chosen)}; data licence: ${dataLicence}`)
          }
          yield* Console.log("")
          const rows = settingsOf(chosen.environment).map((setting) => [
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
          .map((chosen) => [
            chosen.environment.environmentName,
            chosen.about?.family ?? "",
            needsOf(chosen),
            chosen.about?.dataLicence ?? "",
            chosen.description
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
