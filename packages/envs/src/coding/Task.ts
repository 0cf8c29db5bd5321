/** Writes the task of an item as text: the setting `prompt` with the item's fields in the place of their names. */
import { Predicate, Result } from "effect"

const field = /\{([\w.-]+)\}/g

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value))

/** The task, or which field the item lacks. An item that is a text is its own `{task}`. */
export const of = (prompt: string, item: unknown): Result.Result<string, string> => {
  const fields = Predicate.isReadonlyObject(item) ? item : { task: item }
  const missing = Array.from(prompt.matchAll(field), ([, name = ""]) => name).find(
    (name) => fields[name] === undefined || fields[name] === null
  )
  return missing === undefined
    ? Result.succeed(prompt.replaceAll(field, (_, name: string) => textOf(fields[name])))
    : Result.fail(
        `the item has no field ${JSON.stringify(missing)}, which prompt names: set --env.prompt, such as "{question}"`
      )
}
