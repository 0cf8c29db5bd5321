/**
 * Reads the filters written among the words of a search: `score<0.5 step>=10 env:math lyon` is two bounds, an
 * environment and a word. Other words are searched in messages. Pure.
 */
import { type Filter, none, states } from "./FilterFields.ts"

interface Range {
  readonly from: keyof Filter
  readonly to: keyof Filter
  readonly isWhole?: boolean
}

const ranges: ReadonlyMap<string, Range> = new Map(
  Object.entries({
    score: { from: "scoreFrom", to: "scoreTo" },
    best: { from: "bestFrom", to: "bestTo" },
    range: { from: "disagreementFrom", to: "disagreementTo" },
    std: { from: "deviationFrom", to: "deviationTo" },
    length: { from: "lengthFrom", to: "lengthTo" },
    step: { from: "stepFrom", to: "stepTo", isWhole: true },
    staleness: { from: "stalenessFrom", to: "stalenessTo", isWhole: true }
  } as const)
)

/** Prefix of the bounds of a reward component: `component.format<1`. */
const component = "component."

type Named = (value: string) => Partial<Filter> | null

const named: ReadonlyMap<string, Named> = new Map<string, Named>([
  ["env", (environment) => ({ environment })],
  ["item", (item) => ({ item })],
  [
    "state",
    (value) => {
      const state = states.find((known) => known === value)
      return state === undefined ? null : { state }
    }
  ],
  [
    "is",
    (value) =>
      value === "truncated" ? { isTruncated: true } : value === "newly_solved" ? { isNewlySolved: true } : null
  ],
  ["has", (value) => (value === "tool_errors" ? { hasToolErrors: true } : null)]
])

export interface Applied {
  /** With the filters of its text, which has only the other words left. */
  readonly filter: Filter
  /** The first filter that cannot be read, or contradicts another. */
  readonly problem: string | null
}

/** The next number above (`sign` 1) or below (-1): bounds of queries are inclusive. */
const beyond = (value: number, sign: 1 | -1, isWhole: boolean): number =>
  isWhole
    ? Math[sign === 1 ? "floor" : "ceil"](value) + sign
    : value + sign * Math.max(Math.abs(value) * 2 ** -52, 2 ** -1074)

const boundsOf = ({ from, isWhole = false, to }: Range, operator: string, value: number): Partial<Filter> => {
  switch (operator) {
    case ">":
      return { [from]: beyond(value, 1, isWhole) }
    case "<":
      return { [to]: beyond(value, -1, isWhole) }
    case ">=":
      return { [from]: isWhole ? Math.ceil(value) : value }
    case "<=":
      return { [to]: isWhole ? Math.floor(value) : value }
    default:
      return { [from]: value, [to]: value }
  }
}

/** Undefined if the word is no filter, null if it is one that cannot be read. */
const read = (word: string): Partial<Filter> | null | undefined => {
  const [, name = "", operator = "", text = ""] = /^([a-z_]+(?:\.[^<>=:]+)?)(>=|<=|[<>=:])(.*)$/s.exec(word) ?? []
  const of = named.get(name)
  if (of !== undefined && operator === ":") {
    const value = text.replaceAll(/^["“]|["”]$/g, "")
    return value === "" ? null : of(value)
  }
  const isComponent = name.startsWith(component)
  const range: Range | undefined = isComponent ? { from: "componentFrom", to: "componentTo" } : ranges.get(name)
  if (range === undefined || operator === ":") return undefined
  const value = text.trim() === "" ? Number.NaN : Number(text)
  if (!Number.isFinite(value) || (operator === "=" && range.isWhole === true && !Number.isInteger(value))) return null
  return { ...boundsOf(range, operator, value), ...(isComponent && { component: name.slice(component.length) }) }
}

/** Bounds are narrowed; null if another field has another value already. */
const narrowed = (filter: Filter, part: Partial<Filter>): Filter | null => {
  const merged: { [field: string]: unknown } = { ...filter }
  for (const [field, value] of Object.entries(part)) {
    const known = merged[field]
    if (known === none[field as keyof Filter] || known === value) merged[field] = value
    else if (typeof known === "number" && typeof value === "number") {
      merged[field] = field.endsWith("From") ? Math.max(known, value) : Math.min(known, value)
    } else return null
  }
  // Fields of a filter, with values of their types.
  return merged as unknown as Filter
}

/** Quoted phrases are never filters; the value of one may be quoted. */
export const apply = (filter: Filter): Applied => {
  let applied = filter
  let problem: string | null = null
  const words = filter.text.replaceAll(/(?:[a-z]+:)?["“][^"”]*(?:["”]|$)|[^\s"“]+/g, (word) => {
    const part = /^["“]/.test(word) ? undefined : read(word)
    if (part === undefined) return word
    const next = part === null ? null : narrowed(applied, part)
    if (part === null) problem ??= `${word}: expected a number, or a known value.`
    else if (next === null) problem ??= `${word}: contradicts another filter.`
    applied = next ?? applied
    return ""
  })
  return { filter: { ...applied, text: words.replaceAll(/\s+/g, " ").trim() }, problem }
}
