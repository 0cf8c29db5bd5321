/**
 * Converts an answer to an action: one field with the answer, in the type that the server declares, plus constant
 * fields.
 */
import { ExactJson } from "@atropos/core"
import * as Thinking from "../kit/Thinking.ts"
import { Option, Result } from "effect"
import type { Described, Field } from "./Described.ts"

export type Action = { readonly [field: string]: unknown }

export interface Settings {
  /** The field that receives the answer; null: the only possible one. */
  readonly actionField: string | null
  readonly actionExtra: Action
  /** The tag that contains the action; null: all text outside of thinking. */
  readonly tag: string | null
}

const simple = ["string", "integer", "number", "boolean"]

const list = (fields: ReadonlyArray<Field>): string =>
  fields
    .map(({ isRequired, name, types }) => `${name} (${types.join(" or ")}${isRequired ? ", required" : ""})`)
    .join(", ")

const single = (fields: ReadonlyArray<Field>): Field | undefined => (fields.length === 1 ? fields[0] : undefined)

/** The field that receives the answer; a failure states what the server accepts, and which setting is missing. */
export const field = (
  { actionExtra, actionField }: Pick<Settings, "actionField" | "actionExtra">,
  { action }: Pick<Described, "action">
): Result.Result<Field, string> => {
  const own = action.filter(({ name }) => name !== "metadata")
  const takes = `actions of this server have ${own.length === 0 ? "no fields" : list(own)}`
  const open = own.filter(
    ({ name, types }) => !Object.hasOwn(actionExtra, name) && types.some((type) => simple.includes(type))
  )
  const selected =
    actionField === null
      ? (single(open.filter(({ isRequired }) => isRequired)) ??
        single(open.filter(({ types }) => types.includes("string"))) ??
        single(open))
      : own.length === 0
        ? // A server without a declared action type accepts any.
          { name: actionField, types: [], isRequired: false }
        : own.find(({ name }) => name === actionField)
  if (selected === undefined) {
    return Result.fail(
      actionField === null
        ? `the action field for the answer is ambiguous: ${takes}. Name it with --env.action_field, and set others with --env.action_extra '{"…": …}'`
        : `--env.action_field names ${actionField}, but ${takes}`
    )
  }
  const unknown = Object.keys(actionExtra).find((name) => own.length > 0 && !action.some((one) => one.name === name))
  if (unknown !== undefined) return Result.fail(`--env.action_extra names ${unknown}, but ${takes}`)
  const missing = own.filter(
    ({ isRequired, name }) => isRequired && name !== selected.name && !Object.hasOwn(actionExtra, name)
  )
  return missing.length === 0
    ? Result.succeed(selected)
    : Result.fail(
        `an action needs ${missing.map(({ name }) => name).join(", ")} in addition to ${selected.name}: ${takes}. Set constant fields with --env.action_extra, or write custom functions (OpenEnv.make)`
      )
}

/** The text between the last tags of a name, outside of thinking; without a tag, all of it. */
export const actionText = (answer: string, tag: string | null): string | undefined => {
  const spoken = Thinking.visibleText(answer)
  if (tag === null) return spoken.trim()
  const opening = `<${tag}>`
  const end = spoken.lastIndexOf(`</${tag}>`)
  const start = end === -1 ? -1 : spoken.lastIndexOf(opening, end)
  return start === -1 ? undefined : spoken.slice(start + opening.length, end).trim()
}

const decodeJson = (text: string) => Result.getSuccess(Result.try(() => ExactJson.parse(text)))

const isWhole = (value: unknown): boolean => typeof value === "bigint" || Number.isInteger(value)

const fits = (value: unknown, type: string): boolean => {
  switch (type) {
    case "integer":
      return isWhole(value)
    case "array":
      return Array.isArray(value)
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value)
    case "number":
      return typeof value === "number" || typeof value === "bigint"
    default:
      return typeof value === type
  }
}

/** Parses a text as a field's value; undefined if it is invalid. */
const valueOf = (text: string, { types, values }: Field): unknown => {
  const read =
    types.length === 0 || types.includes("string")
      ? text
      : Option.getOrUndefined(Option.filter(decodeJson(text), (value) => types.some((type) => fits(value, type))))
  if (values === undefined || read === undefined) return read
  return values.find((value) => value === read || String(value).toLowerCase() === text.toLowerCase())
}

/** The action of an answer; undefined if it has none. */
export const action = (
  answer: string,
  into: Field,
  { actionExtra, tag }: Pick<Settings, "actionExtra" | "tag">
): Action | undefined => {
  const text = actionText(answer, tag)
  const value = text === undefined ? undefined : valueOf(text, into)
  return value === undefined ? undefined : { ...actionExtra, [into.name]: value }
}
