/** Problems of JSON schemas with their path, and shared helpers for reading schemas. */
import * as ExactJson from "@atropos/core/base/json/ExactJson"
import { Predicate } from "effect"

export type Schema = Readonly<Record<string, unknown>>

export class Problem extends Error {}

export const fail = (where: string, what: string): never => {
  throw new Problem(`${where === "" ? "the schema" : where}: ${what}`)
}

export const isSchema = (value: unknown): value is Schema => Predicate.isReadonlyObject(value) && !Array.isArray(value)

/** Keywords by the type that they apply to. */
export const ofType: { readonly [type: string]: ReadonlyArray<string> } = {
  object: ["properties", "required", "additionalProperties", "minProperties", "maxProperties"],
  array: ["items", "prefixItems", "additionalItems", "minItems", "maxItems"],
  string: ["minLength", "maxLength", "pattern", "format"],
  number: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]
}
export const types = ["object", "array", "string", "number", "boolean", "null"]

export const holds = (schema: Schema, words: ReadonlyArray<string>): ReadonlyArray<string> =>
  words.filter((word) => schema[word] !== undefined)

export const typeOf = (value: unknown): string => {
  if (value === null) return "null"
  if (Array.isArray(value)) return "array"
  if (value instanceof ExactJson.Numeral || typeof value === "bigint") return "number"
  return typeof value
}

export const isInteger = (value: unknown): boolean => /^-?\d+(?:\.0+)?$/.test(ExactJson.write(value) ?? "")

/** Rejects a combination of constraints of which a grammar can only enforce one. */
export const apart = (where: string, one: string, others: ReadonlyArray<string>): void => {
  if (others.length > 0)
    fail(where, `answers cannot be constrained by both ${one} and ${others.join(", ")}; remove one`)
}

export const within = (where: string, word: string): string => (where === "" ? word : `${where}.${word}`)
