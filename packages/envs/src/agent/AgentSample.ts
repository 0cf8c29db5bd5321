/**
 * Formats the result of `run` and the expected one for pages. A text is unchanged, an object of plain values is shown
 * by its fields (a single one by its value), anything else as JSON. The expected result is the agent's gold result if
 * defined, else the answer in the item. Pure.
 */
import * as ValueText from "@atropos/core/base/ValueText"
import { Option, Predicate, Schema } from "effect"
import type * as Outcome from "./Outcome.ts"
import type * as SessionGroup from "./SessionGroup.ts"

/** Column names used for answers in data sets. */
export const answerFields: ReadonlyArray<string> = [
  "answer",
  "expected",
  "expected_answer",
  "gold",
  "target",
  "solution"
]

const isPlain = (value: unknown): value is boolean | number | string =>
  ["boolean", "number", "string"].includes(typeof value)

const textOf = (value: unknown): string | undefined => {
  if (typeof value === "string") return value
  const fields = Predicate.isReadonlyObject(value) ? Object.entries(value) : []
  if (fields.length === 0 || !fields.every(([, one]) => isPlain(one))) return ValueText.of(value)
  return fields.map(([name, one]) => (fields.length === 1 ? String(one) : `${name}: ${String(one)}`)).join(", ")
}

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Unknown))

/** Claims hold results other than texts as JSON. */
const ofClaim = (text: string): string =>
  /^[[{]/.test(text) ? (textOf(Option.getOrElse(decode(text), () => text)) ?? text) : text

const answersIn = (item: unknown): ReadonlyArray<string> => {
  const found = Predicate.isReadonlyObject(item) ? answerFields.map((name) => item[name]).find(isPlain) : undefined
  return found === undefined ? [] : [String(found)]
}

/** A failed run that was scored anyway has no result. */
export const of = ({
  gold: claimed,
  item,
  outcome
}: {
  readonly gold: ReadonlyArray<string> | undefined
  readonly item: unknown
  readonly outcome: Outcome.Outcome<unknown>
}): NonNullable<SessionGroup.JudgedSession["sample"]> => {
  const gold = claimed?.map(ofClaim) ?? answersIn(item)
  const text = outcome._tag === "Ended" ? textOf(outcome.result) : null
  return {
    ...(gold.length > 0 && { gold }),
    ...(text !== undefined && { parsed: text })
  }
}
