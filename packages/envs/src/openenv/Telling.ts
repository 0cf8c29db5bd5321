/**
 * Formats an observation by a template of its fields: `question`, or `Board:\n{board}\nLegal moves: {moves}`; without a
 * template, by its text field, if only one exists or one has a common name.
 */
import { Result } from "effect"
import type { Described, Field } from "./Described.ts"
import * as Visible from "./Visible.ts"

const placeholder = /\{([A-Za-z_]\w*)\}/g

/** The default field names; the first that exists is used. */
const textFields = ["prompt", "question", "observation", "text", "message", "instruction", "task", "content", "output"]

/** Fields of every observation, irrelevant to a policy. */
const common = new Set(["done", "reward", "metadata"])

const list = (fields: ReadonlyArray<Field>): string =>
  fields.map(({ name, types }) => (types.length === 0 ? name : `${name} (${types.join(" or ")})`)).join(", ")

const isText = ({ types }: Field): boolean => types.length === 0 || types.includes("string")

/** The template, checked against the server's schema. */
export const template = (
  text: string | null,
  { observation }: Described,
  isHidden: Visible.IsHidden
): Result.Result<string, string> => {
  const own = observation.filter(({ name }) => !common.has(name))
  const seen = own.filter(({ name }) => !isHidden(name))
  const there = `its observations have ${own.length === 0 ? "no own fields" : list(own)}`
  if (text === null) {
    const texts = seen.filter(isText)
    const field = textFields.map((name) => texts.find((one) => one.name === name)).find((one) => one !== undefined)
    const selected = field ?? (texts.length === 1 ? texts[0] : undefined)
    return selected === undefined
      ? Result.fail(
          `the message to the model is ambiguous: ${there}. Set a field or a template: --env.observation "{…}"`
        )
      : Result.succeed(`{${selected.name}}`)
  }
  const whole = /^[A-Za-z_]\w*$/.test(text) ? `{${text}}` : text
  const names = Array.from(whole.matchAll(placeholder), ([, name]) => name!)
  if (names.length === 0) {
    return Result.fail(`the template ${JSON.stringify(text)} has no {field} of an observation: ${there}`)
  }
  const secret = names.find(isHidden)
  if (secret !== undefined) {
    return Result.fail(
      `the template contains ${secret}, which is hidden from the model as an answer. If it is not an answer, remove it from --env.hidden_fields`
    )
  }
  const missing = names.find((name) => name !== "metadata" && !own.some((field) => field.name === name))
  return missing === undefined || own.length === 0
    ? Result.succeed(whole)
    : Result.fail(`the template contains ${missing}, but ${there}`)
}

/** Formats an observation; a failure names the missing field. */
export const notice = (
  whole: string,
  observation: { readonly [field: string]: unknown },
  isHidden: Visible.IsHidden
): Result.Result<string, string> => {
  const seen = Visible.fields(observation, isHidden)
  const missing = Array.from(whole.matchAll(placeholder), ([, name]) => name!).find(
    (name) => !Object.hasOwn(seen, name)
  )
  return missing === undefined
    ? Result.succeed(whole.replaceAll(placeholder, (_, name: string) => Visible.words(seen[name])))
    : Result.fail(
        `the observation has no field ${missing}; it has ${Object.keys(observation).join(", ") || "none"} (--env.observation)`
      )
}
