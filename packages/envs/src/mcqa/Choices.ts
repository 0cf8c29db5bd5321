/**
 * The choices of a row, as data sets have them: a list of texts, lists of texts and labels beside each other (`{ text,
 * label }`, as ARC, CommonsenseQA and OpenBookQA have them on the hub), or a list of such pairs; or a column each
 * ("option1,option2").
 */
import { Columns, ExactJson } from "@atropos/core"
import { Result } from "effect"

export interface Choices {
  readonly texts: ReadonlyArray<string>
  /** As the data set names them; without, they have none. */
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

/** Choices in one column. */
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

/** The columns of a setting: one, or several with commas between them. */
export const columnsOf = (setting: string): ReadonlyArray<string> =>
  setting
    .split(",")
    .map((column) => column.trim())
    .filter((column) => column !== "")
