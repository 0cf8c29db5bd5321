/**
 * Removes answers from observations. Servers reveal the right answer in the last observation, some in every one: fields
 * with such names are removed, at any depth, before an observation is used.
 */
import { ExactJson } from "@atropos/core"

/** Names of answers, as servers use them. */
export const hidden: ReadonlyArray<string> = [
  "answer",
  "answers",
  "correct_answer",
  "dataset_metadata",
  "expected",
  "expected_answer",
  "expected_output",
  "gold",
  "gold_answer",
  "ground_truth",
  "label",
  "labels",
  "oracle_answer",
  "reference",
  "reference_answer",
  "solution",
  "target"
]

export type IsHidden = (name: string) => boolean

export const isHiddenBy = (names: ReadonlyArray<string>): IsHidden => {
  const all = new Set(names.map((name) => name.toLowerCase()))
  return (name) => all.has(name.toLowerCase())
}

export const of = (value: unknown, isHidden: IsHidden): unknown => {
  if (Array.isArray(value)) return value.map((one) => of(one, isHidden))
  return typeof value === "object" && value !== null && !(value instanceof ExactJson.Numeral)
    ? Object.fromEntries(
        Object.entries(value).flatMap(([name, own]) => (isHidden(name) ? [] : [[name, of(own, isHidden)] as const]))
      )
    : value
}

/** The fields of an observation that are not hidden. */
export const fields = (
  observation: { readonly [field: string]: unknown },
  isHidden: IsHidden
): { readonly [field: string]: unknown } => of(observation, isHidden) as { readonly [field: string]: unknown }

/** Formats a value: texts unchanged, null and undefined as empty, everything else as JSON. */
export const words = (value: unknown): string =>
  typeof value === "string" ? value : value === null || value === undefined ? "" : (ExactJson.write(value) ?? "")
