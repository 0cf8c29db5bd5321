/**
 * Resolves variables of a task: a value that is exactly `${NAME}` or `${NAME:-default}` is taken from those variables
 * of this process that the setting `pass` names. No other variable, such as the key of a model's API, reaches a task.
 */
import { Effect } from "effect"
import { HarborError } from "./HarborError.ts"
import type { Task, Variables } from "./Task.ts"

const template = /^\$\{([^}:]+)(?::-([^]*))?\}$/

/** The variables of this process that `pass` names. */
export const passed = (pass: ReadonlyArray<string>, own: NodeJS.ProcessEnv = process.env): Variables =>
  Object.fromEntries(pass.flatMap((name) => (own[name] === undefined ? [] : [[name, own[name]] as const])))

/** The values; a missing one is an error that states which variable to set or pass. */
export const resolve = (
  { name }: Pick<Task, "name">,
  table: string,
  variables: Variables,
  given: Variables
): Effect.Effect<Variables, HarborError> =>
  Effect.map(
    Effect.forEach(Object.entries(variables), ([key, value]) => {
      const [, variable, otherwise] = template.exec(value) ?? []
      if (variable === undefined) return Effect.succeed([key, value] as const)
      const found = (Object.hasOwn(given, variable) ? given[variable] : undefined) ?? otherwise
      return found === undefined
        ? Effect.fail(
            new HarborError({
              message: `the task ${name} needs the environment variable ${variable} (${table}.${key} in its task.toml), which is not ${process.env[variable] === undefined ? "set" : `passed on: name it in --env.pass '["${variable}"]' if the task may have it`}`
            })
          )
        : Effect.succeed([key, found] as const)
    }),
    (entries) => Object.fromEntries(entries)
  )
