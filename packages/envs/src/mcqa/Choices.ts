/**
 * Reads the choices of a row in common layouts: a list of texts, parallel lists of texts and labels (`{ text, label }`,
 * as ARC, CommonsenseQA and OpenBookQA have them on the hub), a list of such pairs, or one column each
 * ("option1,option2").
 */
import { Columns, ExactJson } from "@atropos/core"
import { Result } from "effect"

export interface Choices {
  readonly texts: ReadonlyArray<string>
  /** The data set's labels; absent: none. */
  readonly labels?: ReadonlyArray<string>
}

const member = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined

const parsed = (value: unknown): unknown => {
  if (typeof value !== "string" || !/^\s*[[{]/.test(value)) return value
  const texts = Columns.texts.read(value)
  if (texts !== undefined) return texts
  return Result.getOrUndefined(Result.try(() => ExactJson.parseWritten(value)))
}

export const choices: Columns.Kind<Choices> = {
  expected: "a list of texts, or texts and labels ({ text: […], label: […] }, or a list of { text, label })",
  read: (input) => {
    const value = parsed(input)
    const texts = Columns.texts.read(value)
    if (texts !== undefined) return { texts }
    const pairs = Array.isArray(value)
      ? { text: value.map((one) => member(one, "text")), label: value.map((one) => member(one, "label")) }
      : { text: member(value, "text"), label: member(value, "label") }
    const [text, labels] = [Columns.texts.read(pairs.text), Columns.texts.read(pairs.label)]
    return text === undefined || labels === undefined ? undefined : { texts: text, labels }
  }
}

export const columnsOf = (setting: string): ReadonlyArray<string> =>
  setting
    .split(",")
    .map((column) => column.trim())
    .filter((column) => column !== "")
