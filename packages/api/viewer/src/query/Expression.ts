/**
 * Reads the filters written among the words of a search: `score<0.5 step>=10 env:math lyon` is two bounds, an
 * environment and a word. Other words are searched in messages. Pure.
 */
import { type Filter, states } from "./FilterFields.ts"

interface Range {
  readonly from: keyof Filter
  readonly to: keyof Filter
  readonly isWhole?: boolean
}

const ranges: { readonly [name: string]: Range } = {
  score: { from: "scoreFrom", to: "scoreTo" },
  best: { from: "bestFrom", to: "bestTo" },
  range: { from: "disagreementFrom", to: "disagreementTo" },
  std: { from: "deviationFrom", to: "deviationTo" },
  length: { from: "lengthFrom", to: "lengthTo" },
  step: { from: "stepFrom", to: "stepTo", isWhole: true },
  staleness: { from: "stalenessFrom", to: "stalenessTo", isWhole: true }
}

/** Prefix of the bounds of a reward component: `component.format<1`. */
const component = "component."

const named: { readonly [name: string]: (value: string) => Partial<Filter> | null } = {
  env: (environment) => ({ environment }),
  item: (item) => ({ item }),
  state: (value) => {
    const state = states.find((known) => known === value)
    return state === undefined ? null : { state }
  },
  is: (value) =>
    value === "truncated" ? { isTruncated: true } : value === "newly_solved" ? { isNewlySolved: true } : null,
  has: (value) => (value === "tool_errors" ? { hasToolErrors: true } : null)
}

export interface Expression {
  readonly set: Partial<Filter>
  /** The text without the filters. */
  readonly words: string
  /** The first filter that cannot be read. */
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
  const of = named[name]
  if (of !== undefined && operator === ":") return text === "" ? null : of(text)
  const isComponent = name.startsWith(component)
  const range: Range | undefined = isComponent ? { from: "componentFrom", to: "componentTo" } : ranges[name]
  if (range === undefined || operator === ":") return undefined
  const value = text.trim() === "" ? Number.NaN : Number(text)
  if (!Number.isFinite(value)) return null
  return { ...boundsOf(range, operator, value), ...(isComponent && { component: name.slice(component.length) }) }
}

/** Quoted phrases are never filters. */
export const parse = (text: string): Expression => {
  let set: Partial<Filter> = {}
  let problem: string | null = null
  const words = text.replaceAll(/["“][^"”]*(?:["”]|$)|[^\s"“]+/g, (word) => {
    const part = /^["“]/.test(word) ? undefined : read(word)
    if (part === undefined) return word
    if (part === null) problem ??= `${word}: expected a number, or a known value.`
    else set = { ...set, ...part }
    return ""
  })
  return { set, words: words.replaceAll(/\s+/g, " ").trim(), problem }
}
