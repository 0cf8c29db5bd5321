/**
 * Implements IFEval's checks, by their ids, like the original code (Zhou et al. 2023, https://arxiv.org/abs/2311.07911;
 * google-research, Apache-2.0, in the version of lm-evaluation-harness).
 *
 * They are laxer than those of the environment `instructions`, in ways that published scores depend on: a keyword is a
 * pattern that may match within a word, a bullet is any line that begins with `-`. If an argument is missing the
 * original draws one at random; such rows are rejected here.
 */
import { Result } from "effect"
import * as Punkt from "./Punkt.ts"
import * as Tokens from "./Tokens.ts"

export type Arguments = { readonly [name: string]: unknown }
/** The likeliest language of a text (ISO 639-1); undefined if it has no letters. */
export type Detect = (text: string) => string | undefined
export type Check = (text: string) => boolean

const word = String.raw`[\p{L}\p{N}_]`
const boundary = `(?:(?<=${word})(?!${word})|(?<!${word})(?=${word}))`

/** Keywords are patterns; an invalid pattern is matched literally. */
const patternOf = (source: string, around: string = ""): RegExp =>
  Result.getOrElse(
    Result.try(() => new RegExp(`${around}(?:${source})${around}`, "giu")),
    () => new RegExp(`${around}${RegExp.escape(source)}${around}`, "giu")
  )

const count = (text: string, pattern: RegExp): number => Array.from(text.matchAll(pattern)).length

/** The only relations of IFEval. */
const relations = ["less than", "at least"] as const
type Relation = (typeof relations)[number]

const holds = (number: number, relation: Relation, target: number): boolean =>
  relation === "less than" ? number < target : number >= target

/** Counts lines that begin with a mark, after any white space and empty lines. */
const linesBeginning = (text: string, begins: (rest: string) => boolean, reach: number): number => {
  let found = 0
  let at = 0
  while (at <= text.length) {
    let start = at
    while (start < text.length && /\s/.test(text[start] ?? "")) start++
    const isFound = begins(text.slice(start, start + 2))
    if (isFound) found++
    const from = isFound ? start + reach : start
    const end = text.indexOf("\n", Math.min(from, text.length))
    if (end === -1) break
    at = end + 1
  }
  return found
}

const isStar = (rest: string): boolean => rest.length === 2 && rest.startsWith("*") && rest[1] !== "*"
const isDash = (rest: string): boolean => rest.startsWith("-")

/** Counts pairs of square brackets on one line. */
const placeholders = (text: string): number => {
  let found = 0
  for (const line of text.split("\n")) {
    let open = line.indexOf("[")
    while (open !== -1) {
      const close = line.indexOf("]", open)
      if (close === -1) break
      found++
      open = line.indexOf("[", close + 1)
    }
  }
  return found
}

const trimmedOf = (text: string, mark: string): string => {
  let [from, to] = [0, text.length]
  while (from < to && text[from] === mark) from++
  while (to > from && text[to - 1] === mark) to--
  return text.slice(from, to)
}

const highlights = (text: string): number =>
  Array.from(text.matchAll(/\*[^\n*]*\*/g)).filter(([part]) => trimmedOf(part, "*").trim() !== "").length +
  Array.from(text.matchAll(/\*\*[^\n*]*\*\*/g)).filter(([part]) => part.slice(2, -2).trim() !== "").length

const isParagraphs = (text: string, target: number): boolean => {
  const parts = text.split(/\s?\*\*\*\s?/)
  let number = parts.length
  for (const [at, part] of parts.entries()) {
    if (part.trim() !== "") continue
    if (at !== 0 && at !== parts.length - 1) return false
    number--
  }
  return number === target
}

const hasPostscript = (text: string, marker: string): boolean => {
  const lower = text.toLowerCase()
  if (marker === "P.P.S") return /p\.\s?p\.\s?s/.test(lower)
  return marker === "P.S." ? /p\.\s?s\./.test(lower) : patternOf(marker.toLowerCase()).test(lower)
}

const withoutFence = (text: string): string =>
  ["```json", "```Json", "```JSON", "```"]
    .reduce((rest, fence) => (rest.startsWith(fence) ? rest.slice(fence.length) : rest), text.trim())
    .replace(/```$/, "")
    .trim()

/** Replaces Python's NaN and Infinity outside of strings by numbers. */
const withNumbers = (text: string): string => {
  let [written, from, isInside] = ["", 0, false]
  for (let at = 0; at <= text.length; at++) {
    if (isInside && text[at] === "\\") at++
    else if (text[at] === '"' || at === text.length) {
      const part = text.slice(from, at)
      written += isInside ? part : part.replaceAll(/-?\b(?:NaN|Infinity)\b/g, "0")
      from = at
      isInside = !isInside
    }
  }
  return written + text.slice(from)
}

const parses = (text: string): boolean => Result.isSuccess(Result.try((): unknown => JSON.parse(text)))

/** Accepts the same texts as Python's `json`, including NaN and Infinity. */
const isJson = (text: string): boolean => parses(text) || (/NaN|Infinity/.test(text) && parses(withNumbers(text)))

const firstWordOf = (paragraph: string): string => {
  const [first = ""] = paragraph.trim().split(/\s+/)
  const start = first.replace(/^'+/, "").replace(/^"+/, "")
  return (/^[^.,?!'"]*/.exec(start)?.[0] ?? "").toLowerCase()
}

const isNthParagraph = (text: string, number: number, nth: number, target: string): boolean => {
  const paragraphs = text.split("\n\n")
  const full = paragraphs.filter((part) => part.trim() !== "").length
  const paragraph = (paragraphs[nth - 1] ?? "").trim()
  return nth <= full && paragraph !== "" && full === number && firstWordOf(paragraph) === target
}

const isTwo = (text: string): boolean => {
  const parts = text.split("******")
  if (parts.slice(1, -1).some((part) => part.trim() === "")) return false
  const [one, other, ...more] = parts.filter((part) => part.trim() !== "").map((part) => part.trim())
  return one !== undefined && other !== undefined && more.length === 0 && one !== other
}

const hasTitle = (text: string): boolean =>
  text.split("\n").some((line) => {
    const [from, to] = [line.indexOf("<<"), line.lastIndexOf(">>")]
    return from !== -1 && to >= from + 3 && trimmedOf(trimmedOf(line.slice(from, to + 2), "<"), ">").trim() !== ""
  })

const isUpper = (text: string): boolean => /\p{Uppercase}/u.test(text) && !/\p{Lowercase}|\p{Lt}/u.test(text)
const isLower = (text: string): boolean => /\p{Lowercase}/u.test(text) && !/\p{Uppercase}|\p{Lt}/u.test(text)

const constrained = ["My answer is yes.", "My answer is no.", "My answer is maybe."]

const isIn = (detect: Detect, text: string, language: string): boolean => {
  const found = detect(text)
  return found === undefined || found === language
}

/** Required arguments of a check. */
interface Given {
  readonly number: (name: string) => number
  readonly text: (name: string) => string
  readonly texts: (name: string) => ReadonlyArray<string>
  readonly relation: (name: string) => Relation
}

class Missing extends Error {}

const input = (id: string, args: Arguments): Given => {
  const need = <A>(name: string, is: (value: unknown) => value is A, what: string): A => {
    const value = typeof args[name] === "bigint" ? Number(args[name]) : args[name]
    if (is(value)) return value
    throw new Missing(`${id} needs ${name}, ${what}, and has ${JSON.stringify(value ?? null)}`)
  }
  return {
    number: (name) =>
      need(name, (value): value is number => typeof value === "number" && value > 0, "a number above 0"),
    text: (name) => need(name, (value): value is string => typeof value === "string" && value !== "", "a text"),
    texts: (name) =>
      need(
        name,
        (value): value is ReadonlyArray<string> =>
          Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === "string"),
        "a list of texts"
      ),
    relation: (name) =>
      need(
        name,
        (value): value is Relation => relations.some((one) => one === value),
        `one of ${relations.map((one) => JSON.stringify(one)).join(" and ")}`
      )
  }
}

const checks: { readonly [id: string]: (args: Given, detect: Detect) => Check } = {
  "keywords:existence": ({ texts }) => {
    const patterns = texts("keywords").map((one) => patternOf(one))
    return (text) => patterns.every((pattern) => text.search(pattern) !== -1)
  },
  "keywords:frequency": ({ number, relation: related, text: input }) => {
    const [pattern, target, relation] = [patternOf(input("keyword").trim()), number("frequency"), related("relation")]
    return (text) => holds(count(text, pattern), relation, target)
  },
  "keywords:forbidden_words": ({ texts }) => {
    const patterns = texts("forbidden_words").map((one) => patternOf(one, boundary))
    return (text) => patterns.every((pattern) => text.search(pattern) === -1)
  },
  "keywords:letter_frequency": ({ number, relation: related, text: input }) => {
    const [letter, target, relation] = [
      input("letter").trim().toLowerCase(),
      number("let_frequency"),
      related("let_relation")
    ]
    return (text) => holds(text.toLowerCase().split(letter).length - 1, relation, target)
  },
  "language:response_language": ({ text: input }, detect) => {
    const language = input("language")
    return (text) => isIn(detect, text, language)
  },
  "length_constraints:number_sentences": ({ number, relation: related }) => {
    const [target, relation] = [number("num_sentences"), related("relation")]
    return (text) => holds(Punkt.countSentences(text), relation, target)
  },
  "length_constraints:number_paragraphs": ({ number }) => {
    const target = number("num_paragraphs")
    return (text) => isParagraphs(text, target)
  },
  "length_constraints:number_words": ({ number, relation: related }) => {
    const [target, relation] = [number("num_words"), related("relation")]
    return (text) => holds(count(text, /[\p{L}\p{N}_]+/gu), relation, target)
  },
  "length_constraints:nth_paragraph_first_word": ({ number, text: input }) => {
    const [target, nth, first] = [number("num_paragraphs"), number("nth_paragraph"), input("first_word").toLowerCase()]
    return (text) => isNthParagraph(text, target, nth, first)
  },
  "detectable_content:number_placeholders": ({ number }) => {
    const target = number("num_placeholders")
    return (text) => placeholders(text) >= target
  },
  "detectable_content:postscript": ({ text: input }) => {
    const marker = input("postscript_marker").trim()
    return (text) => hasPostscript(text, marker)
  },
  "detectable_format:number_bullet_lists": ({ number }) => {
    const target = number("num_bullets")
    return (text) => linesBeginning(text, isStar, 2) + linesBeginning(text, isDash, 1) === target
  },
  "detectable_format:constrained_response": () => (text) => constrained.some((one) => text.trim().includes(one)),
  "detectable_format:number_highlighted_sections": ({ number }) => {
    const target = number("num_highlights")
    return (text) => highlights(text) >= target
  },
  "detectable_format:multiple_sections": ({ number, text: input }) => {
    const target = number("num_sections")
    const mark = new RegExp(String.raw`${patternOf(input("section_spliter").trim()).source}\s?\d`, "gu")
    return (text) => count(text, mark) >= target
  },
  "detectable_format:json_format": () => (text) => isJson(withoutFence(text)),
  "detectable_format:title": () => hasTitle,
  "combination:two_responses": () => isTwo,
  "combination:repeat_prompt": ({ text: input }) => {
    const prompt = input("prompt_to_repeat").trim().toLowerCase()
    return (text) => text.trim().toLowerCase().startsWith(prompt)
  },
  "startend:end_checker": ({ text: input }) => {
    const end = input("end_phrase").trim().toLowerCase()
    return (text) => trimmedOf(text.trim(), '"').toLowerCase().endsWith(end)
  },
  "startend:quotation": () => (text) =>
    text.trim().length > 1 && text.trim().startsWith('"') && text.trim().endsWith('"'),
  "change_case:capital_word_frequency": ({ number, relation: related }) => {
    const [target, relation] = [number("capital_frequency"), related("capital_relation")]
    return (text) => holds(Tokens.of(text).filter(isUpper).length, relation, target)
  },
  "change_case:english_capital": (_, detect) => (text) => isUpper(text) && isIn(detect, text, "en"),
  "change_case:english_lowercase": (_, detect) => (text) => isLower(text) && isIn(detect, text, "en"),
  "punctuation:no_comma": () => (text) => !text.includes(",")
}

/** The check of an id with its arguments, or the reason if none. */
export const make = (id: string, args: Arguments, detect: Detect): Result.Result<Check, string> => {
  const known = Object.hasOwn(checks, id) ? checks[id] : undefined
  if (known === undefined) {
    return Result.fail(`unknown instruction ${JSON.stringify(id)}; known: ${Object.keys(checks).join(", ")}`)
  }
  return Result.mapError(
    Result.try(() => known(input(id, args), detect)),
    (error) => (error instanceof Error ? error.message : String(error))
  )
}
