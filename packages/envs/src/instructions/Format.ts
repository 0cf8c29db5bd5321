/** Constraints on the parts of an answer, or on the whole of it: a choice or JSON. */
import { Result, Schema } from "effect"
import { checker, saysSomething } from "./Constraint.ts"
import * as Counting from "./Counting.ts"

const divider = /^\s*(?:[*+-]\s*){3,}$/
const bullet = /^\s*[*+-]\s(.*)/

/** Lines that begin with `*`, `-` or `+` and contain text. A divider does not count. */
export const bullets = checker(
  "verify_bullet_points",
  { N: Counting.Count },
  {
    instruction: ({ N }) =>
      `Give exactly ${Counting.plural(N, "bullet point")}, each a line of its own that begins with "* " or "- ".`,
    isMet: (text, { N }) =>
      text.split("\n").filter((line) => !divider.test(line) && saysSomething(bullet.exec(line)?.[1] ?? "")).length === N
  }
)

export const title = checker(
  "validate_title",
  {},
  {
    instruction: () => "Give your answer a title in double angular brackets, as in <<a quiet place>>.",
    isMet: (text) =>
      text.split("\n").some((line) => {
        const [from, to] = [line.indexOf("<<"), line.lastIndexOf(">>")]
        return from !== -1 && to > from && saysSomething(line.slice(from + 2, to))
      })
  }
)

const wrapping = new Set(Array.from(" \t\n\"'“”*_`()[]"))

/** Strips surrounding quotes, brackets, markup, and a final full stop. */
const plain = (text: string): string => {
  let [from, to] = [0, text.length]
  while (from < to && wrapping.has(text[from]!)) from++
  while (to > from && wrapping.has(text[to - 1]!)) to--
  if (to > from && ".!".includes(text[to - 1]!)) to--
  while (to > from && wrapping.has(text[to - 1]!)) to--
  return text.slice(from, to).toLowerCase()
}

/** The whole answer is one of the options, ignoring case, surrounding quotes, brackets and markup, and a full stop. */
export const choice = checker(
  "validate_choice",
  { options: Schema.NonEmptyArray(Schema.NonEmptyString) },
  {
    instruction: ({ options }) =>
      `Answer with one of these and nothing else: ${options.map((option) => JSON.stringify(option)).join(", ")}.`,
    isMet: (text, { options }) => options.some((option) => plain(option) === plain(text))
  }
)

/** `*part*` or `**part**` on one line, without white space inside of the asterisks. */
const highlighted = /\*(?!\s)([^*\n]+)(?<!\s)\*/g

export const highlights = checker(
  "validate_highlighted_sections",
  { N: Counting.Count },
  {
    instruction: ({ N }) =>
      `Highlight at least ${Counting.plural(N, "part")} of your answer with asterisks, *like this*.`,
    isMet: (text, { N }) =>
      Array.from(text.matchAll(highlighted)).filter(([, inside = ""]) => saysSomething(inside)).length >= N
  }
)

/** Lines that begin (after markup) with the splitter and a number or letter, each with text next to or below it. */
export const sections = checker(
  "validate_sections",
  { N: Counting.Count, section_splitter: Schema.NonEmptyString },
  {
    instruction: ({ N, section_splitter: splitter }) =>
      `Write exactly ${Counting.plural(N, "section")} and begin each on a line of its own with ${JSON.stringify(`${splitter.trim()} X`)}, where X is its number.`,
    isMet: (text, { N, section_splitter: splitter }) => {
      const [, ...bodies] = text.split(sectionMark(splitter.trim()))
      return bodies.length === N && bodies.every(saysSomething)
    }
  }
)

/** A splitter without letters, for example `###`, needs no number; `####` is a different one. */
const sectionMark = (splitter: string): RegExp =>
  new RegExp(
    /\p{L}$/u.test(splitter)
      ? `^[^\\p{L}\\p{N}\\n]{0,8}${RegExp.escape(splitter)}[^\\S\\n]{0,8}(?:\\d{1,4}|[ivxlc]{1,6}|[a-z])(?![\\p{L}\\p{N}])`
      : `^[^\\S\\n]{0,8}${RegExp.escape(splitter)}(?!${RegExp.escape(splitter.slice(-1))})`,
    "gimu"
  )

const unfenced = (text: string): string => {
  const trimmed = text.trim()
  return trimmed.startsWith("```") && trimmed.endsWith("```") && trimmed.length >= 6
    ? trimmed.slice(3, -3).replace(/^json/i, "")
    : trimmed
}

/** A non-empty object or list, with or without a code fence; a bare number or word does not count. */
export const json = checker(
  "validate_json_format",
  {},
  {
    instruction: () =>
      "Your whole answer must be JSON: an object or a list, with nothing before or after it but perhaps a code fence.",
    isMet: (text) =>
      Result.match(
        Result.try(() => JSON.parse(unfenced(text)) as unknown),
        {
          onFailure: () => false,
          onSuccess: (value) => typeof value === "object" && value !== null && Object.keys(value).length > 0
        }
      )
  }
)
