/** Postscripts and placeholders. */
import { Schema } from "effect"
import { checker, saysSomething } from "./Constraint.ts"
import * as Counting from "./Counting.ts"

/** The answer, then the marker as a word of its own, then something, in the last paragraph. A bare marker is no postscript. */
export const postscript = checker(
  "verify_postscript",
  { postscript_marker: Schema.NonEmptyString },
  {
    instruction: ({ postscript_marker: marker }) => `End your answer with a postscript that begins with ${marker}`,
    isMet: (text, { postscript_marker: marker }) => {
      const wanted = marker.trim()
      const at = text.lastIndexOf(wanted)
      if (wanted === "" || at === -1) return false
      const [before, after] = [text.slice(0, at), text.slice(at + wanted.length)]
      return /[\s*_"(]$/.test(before) && saysSomething(before) && Counting.paragraphs(after).length === 1
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
