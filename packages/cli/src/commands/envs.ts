/** `atropos envs [NAME|FILE]`: the environments there are; with a name, all settings of one. */
import { EnvironmentSettings } from "@atropos/core"
import { Console, Effect, Option, SchemaAST } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as Environments from "../config/Environments.ts"
import * as Table from "../Table.ts"
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
        name: EnvironmentSettings.wireName(field),
        default: annotations?.["default"],
        description: typeof annotations?.["description"] === "string" ? annotations["description"] : "",
        isCommon: common[field] === schema
      }
    })
    .sort((a, b) => Number(a.isCommon) - Number(b.isCommon))
}

const describe = (chosen: Environments.Chosen): unknown => ({
  name: chosen.environment.environmentName,
  description: chosen.description,
  settings: settingsOf(chosen.environment)
})

const name: string = "envs"

export const make: MakeVerb = () =>
  Effect.succeed({
    booleans: new Set(["json"]),
    command: Command.make(
      name,
      {
        environment: Argument.String("environment").pipe(
          Argument.withDescription("name or file: lists all its settings"),
          Argument.optional
        ),
        json: Flag.Boolean("json").pipe(Flag.withDescription("print JSON"), Flag.withDefault(false))
      },
      Effect.fnUntraced(function* ({ environment, json }) {
        if (Option.isSome(environment)) {
          const chosen = yield* Environments.choose(environment.value)
          if (json) return yield* Console.log(JSON.stringify(describe(chosen), null, 2))
          yield* Console.log(`${chosen.environment.environmentName}: ${chosen.description}\n`)
          const rows = settingsOf(chosen.environment).map((setting) => [
            `--env.${setting.name}`,
            JSON.stringify(setting.default) ?? "",
            setting.description
          ])
          return yield* Console.log(Table.columns(["setting", "default", "meaning"], rows))
        }
        const all = Object.values(Environments.builtIn).map((entry): Environments.Chosen => ({
          environment: entry.layer,
          description: entry.description
        }))
        if (json) return yield* Console.log(JSON.stringify(all.map(describe), null, 2))
        const rows = all.map((chosen) => [
          chosen.environment.environmentName,
          chosen.description,
          settingsOf(chosen.environment)
            .filter(({ isCommon }) => !isCommon)
            .map(({ name }) => name)
            .join(", ")
        ])
        yield* Console.log(Table.columns(["name", "what it is", "settings of its own"], rows))
        yield* Console.log(
          "\natropos envs NAME lists all settings; an environment of your own is run by its path: --env ./my-env.ts"
        )
      })
    ).pipe(
      Command.withExamples([
        { command: "atropos envs", description: "names and descriptions" },
        { command: "atropos envs gsm8k", description: "all settings of one, with defaults" }
      ])
    )
  })
