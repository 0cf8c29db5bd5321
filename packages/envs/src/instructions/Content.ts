/** Constraints to include postscripts and placeholders. */
import { Schema } from "effect"
import { checker, saysSomething } from "./Constraint.ts"
import * as Counting from "./Counting.ts"

/** True after the end of a line or a sentence, ignoring marks in between. */
const isFresh = (before: string): boolean => {
  let end = before.length
  while (end > 0 && /[\s*_"'(>-]/.test(before[end - 1]!)) end--
  return before.slice(end).includes("\n") || /[.!?…)\]:]["'*_]*$/.test(before.slice(0, end).slice(-9))
}

/**
 * The answer, then the marker at the start of a line or a sentence, then more text. A bare marker is not a postscript.
 */
export const postscript = checker(
  "verify_postscript",
  { postscript_marker: Schema.NonEmptyString },
  {
    instruction: ({ postscript_marker: marker }) => `End your answer with a postscript that begins with ${marker}`,
    isMet: (text, { postscript_marker: marker }) => {
      const pattern = marker
        .trim()
        .split(".")
        .map((part) => RegExp.escape(part))
        .join(String.raw`\.\s?`)
      if (pattern === "") return false
      const occurrence = Array.from(text.matchAll(new RegExp(`(?<![\\p{L}\\p{N}.])${pattern}`, "giu"))).findLast(
        ({ 0: whole, index }) =>
          isFresh(text.slice(Math.max(0, index - 100), index)) && saysSomething(text.slice(index + whole.length))
      )
      return (
        occurrence !== undefined &&
        saysSomething(text.slice(0, occurrence.index).replaceAll(new RegExp(pattern, "giu"), ""))
      )
    }
  }
)

const placeholder = /\[([^[\]\n]+)\]/g

export const placeholders = checker(
  "validate_placeholders",
  { N: Counting.Count },
  {
    instruction: ({ N }) =>
      `Put at least ${Counting.plural(N, "placeholder")} in square brackets into your answer, such as [address].`,
    isMet: (text, { N }) =>
      Array.from(text.matchAll(placeholder)).filter(([, inside = ""]) => saysSomething(inside)).length >= N
  }
)
