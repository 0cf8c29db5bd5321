/**
 * Checks that a text has a format exactly once, and extracts the answer. Linear in the text.
 *
 * Text around the format is allowed, except for JSON and configuration lines, which programs parse. A code fence around
 * those is ignored. The prompt's placeholder is not an answer.
 */
import { ExactJson } from "@atropos/core"
import * as RepeatedKeys from "@atropos/core/base/json/RepeatedKeys"
import { Predicate, Result } from "effect"
import { between, places } from "./Marks.ts"
import type { Line, Rule, Section } from "./Rule.ts"
import { answerAt, placeholder, shownIn } from "./Written.ts"

/** A match of the format; without an answer if the format has no place for one. */
export interface Read {
  readonly answer?: string
}

const share = /^(?:0(?:\.\d{1,20})?|\.\d{1,20}|1(?:\.0{1,20})?)$/

const answering = (text: string | undefined): Read | undefined => {
  const answer = text?.trim()
  return answer === undefined || answer === "" || answer === placeholder ? undefined : { answer }
}

const opens = /^```[a-z]{0,10}[^\S\n]*\n/i

/** Strips the only code fence, if it encloses everything. */
const unfenced = (text: string): string => {
  const opened = opens.exec(text)?.[0].length
  return opened === undefined || text.length < opened + 3 || !text.endsWith("```")
    ? text
    : text.slice(opened, -3).trim()
}

const textOf = (value: unknown): string | undefined =>
  typeof value === "string"
    ? value
    : typeof value === "number" || typeof value === "bigint" || typeof value === "boolean"
      ? String(value)
      : undefined

const readJson = (text: string, { confidence = false, keys = ["answer"], shape }: Rule & { readonly kind: "json" }) => {
  const parsed = Result.getOrUndefined(Result.try(() => ExactJson.parse(text)))
  if (shape === "text") return answering(typeof parsed === "string" ? parsed : undefined)
  if (shape === "list") return Array.isArray(parsed) && parsed.length === 1 ? answering(textOf(parsed[0])) : undefined
  if (!Predicate.isReadonlyObject(parsed) || Array.isArray(parsed) || RepeatedKeys.find(text) !== undefined)
    return undefined
  const fields = [...keys, ...(confidence ? ["confidence"] : [])]
  if (Object.keys(parsed).length !== fields.length || !fields.every((key) => Object.hasOwn(parsed, key)))
    return undefined
  const sure = parsed["confidence"]
  if (confidence && !(typeof sure === "number" && sure >= 0 && sure <= 1)) return undefined
  const texts = keys.map((key) => textOf(parsed[key])?.trim() ?? "")
  return texts.every((one, at) => one !== "" && one !== keys[at]) ? answering(texts.at(-1)) : undefined
}

const quoted = (value: string): string | undefined => {
  if (!value.startsWith('"')) return undefined
  const parsed = Result.getOrUndefined(Result.try((): unknown => JSON.parse(value)))
  return typeof parsed === "string" ? parsed : undefined
}

/** A YAML scalar on one line: quoted, or plain text without special meaning. */
const yaml = (value: string): string | undefined => {
  if (value.startsWith('"')) return quoted(value)
  if (value.startsWith("'")) return /^'[^']*'$/.test(value) ? value.slice(1, -1) : undefined
  return /^[[\]{},&*!|>%@`#]/.test(value) || /^[-?:](?:\s|$)/.test(value) || /:(?:\s|$)|\s#/.test(value)
    ? undefined
    : value
}

const valueOf = (line: string, one: Exclude<Line, { readonly head: string }>): string | undefined => {
  const { key, separator, value } = one
  if (!line.startsWith(key)) return undefined
  const rest = line.slice(key.length).trimStart()
  const sign = separator.trim()
  // YAML requires a space after the colon of a key.
  const needed = value === "yaml" || separator === ": " ? `${sign} ` : sign
  if (!rest.startsWith(needed)) return undefined
  const written = rest.slice(needed.length).trim()
  if (value === "share") return share.test(written) ? written : undefined
  return value === "quoted" ? quoted(written) : value === "yaml" ? yaml(written) : written
}

const readLines = (text: string, target: ReadonlyArray<Line>): Read | undefined => {
  const lines = text.split("\n").filter((line) => line.trim() !== "")
  if (lines.length !== target.length) return undefined
  const values = target.map((one, at) =>
    "head" in one ? (lines[at]!.trim() === one.head ? one.head : undefined) : valueOf(lines[at]!.trimEnd(), one)
  )
  return values.every((value) => value !== undefined && value.trim() !== "")
    ? answering(values[answerAt(target)])
    : undefined
}

const fits = (section: Section, text: string): boolean => {
  if (section.kind === "truth") return /^(?:TRUE|FALSE)$/.test(text)
  if (section.kind === "grade") return /^(?:[1-9]|10)$/.test(text)
  return text !== "" && text !== shownIn(section)
}

const flat = (all: ReadonlyArray<Section>): ReadonlyArray<Section> =>
  all.flatMap((section) => [section, ...flat(section.has ?? [])])

/** Matches the sections in order, and extracts the answer. */
const follow = (text: string, all: ReadonlyArray<Section>): Read | undefined => {
  let at = 0
  let read: Read = {}
  for (const section of all) {
    const [open, close] = [`<${section.tag}>`, `</${section.tag}>`]
    const from = text.indexOf(open, at)
    const to = from === -1 ? -1 : text.indexOf(close, from)
    if (to === -1) return undefined
    const inner = text.slice(from + open.length, to).trim()
    at = to + close.length
    if (section.has !== undefined) {
      const within = follow(inner, section.has)
      if (within === undefined) return undefined
      read = { ...read, ...within }
    } else if (section.isAnswer === true) {
      const { begins = "" } = section
      const answer = inner.startsWith(begins) ? answering(inner.slice(begins.length)) : undefined
      if (answer === undefined) return undefined
      read = answer
    } else if (!fits(section, inner)) return undefined
  }
  return read
}

const readSections = (text: string, all: ReadonlyArray<Section>): Read | undefined => {
  const counts = Map.groupBy(flat(all), ({ tag }) => tag)
  for (const [tag, { length }] of counts) {
    if (places(text, `<${tag}>`).length !== length || places(text, `</${tag}>`).length !== length) return undefined
  }
  return follow(text, all)
}

/** Parses a text (an answer without its thinking) in a format; undefined unless it has the format exactly once. */
export const read = (rule: Rule, text: string): Read | undefined => {
  const trimmed = text.trim()
  switch (rule.kind) {
    case "between": {
      const found = answering(between(trimmed, rule.open, rule.close))
      return rule.inner === "letter" && !/^[A-D]$/i.test(found?.answer ?? "") ? undefined : found
    }
    case "begins": {
      const mark = `${rule.mark} `
      const [line, ...others] = trimmed
        .split("\n")
        .map((one) => one.trim())
        .filter((one) => one.startsWith(mark))
      return others.length > 0 ? undefined : answering(line?.slice(mark.length))
    }
    case "json":
      return readJson(unfenced(trimmed), rule)
    case "lines":
      return readLines(unfenced(trimmed), rule.lines)
    case "sections":
      return readSections(trimmed, rule.sections)
  }
}
