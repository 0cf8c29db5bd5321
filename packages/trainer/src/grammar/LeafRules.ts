/** Converts constants, strings and numbers of JSON schemas to grammars. */
import * as ExactJson from "@atropos/core/base/json/ExactJson"
import { Result } from "effect"
import * as Ebnf from "./Ebnf.ts"
import * as NumberRules from "./NumberRules.ts"
import * as ObjectRules from "./ObjectRules.ts"
import * as PatternRules from "./PatternRules.ts"
import { apart, fail, holds, isSchema, type Schema, within } from "./SchemaProblem.ts"
import * as StringRules from "./StringRules.ts"

/** One value, with optional whitespace where JSON allows it. */
export const constant = (rules: Ebnf.Rules, value: unknown): Ebnf.Expression => {
  if (Array.isArray(value)) {
    const items = value.map((one) => constant(rules, one)).join(` ${ObjectRules.comma(rules)} `)
    return ObjectRules.within(rules, "[", value.length === 0 ? Ebnf.empty : items, "]")
  }
  if (isSchema(value) && !(value instanceof ExactJson.Numeral)) {
    const all = Object.entries(value).map(([name, one]) => ObjectRules.named(rules, name, constant(rules, one)))
    return ObjectRules.within(
      rules,
      "{",
      all.length === 0 ? Ebnf.empty : all.join(` ${ObjectRules.comma(rules)} `),
      "}"
    )
  }
  return Ebnf.literal(ExactJson.write(value) ?? "null")
}

export const string = (rules: Ebnf.Rules, schema: Schema, where: string): Ebnf.Expression | undefined => {
  const { format, maxLength, minLength, pattern } = schema
  const lengths = holds(schema, ["minLength", "maxLength"])
  if (typeof format === "string") {
    apart(where, "format", [...holds(schema, ["pattern"]), ...lengths])
    return Ebnf.sequence(StringRules.quote, StringRules.formats[format]!, StringRules.quote)
  }
  if (typeof pattern === "string") {
    apart(where, "pattern", lengths)
    const made = PatternRules.make(pattern, rules)
    if (Result.isFailure(made)) {
      return fail(
        within(where, "pattern"),
        `answers cannot be constrained by ${pattern.slice(0, 60)}: it has ${made.failure}`
      )
    }
    return Ebnf.sequence(StringRules.quote, made.success, StringRules.quote)
  }
  const [from, to] = [Number(minLength ?? 0), maxLength === undefined ? undefined : Number(maxLength)]
  return to !== undefined && from > to ? undefined : StringRules.ofLength(rules, from, to)
}

/** Numbers, or `integer`s, between bounds; undefined if the bounds allow no number. */
export const number = (schema: Schema, type: string, where: string): Ebnf.Expression | undefined => {
  const bound = (word: string): NumberRules.Bound | undefined => {
    const value = schema[word]
    if (value === undefined) return undefined
    const text = ExactJson.write(value) ?? ""
    if (!NumberRules.isBound(text))
      return fail(
        within(where, word),
        `${text} is not a number of at most ${NumberRules.maxDigits} digits before the point`
      )
    return { value: NumberRules.decimal(text), isExclusive: word.startsWith("exclusive") }
  }
  for (const [one, other] of [
    ["minimum", "exclusiveMinimum"],
    ["maximum", "exclusiveMaximum"]
  ] as const)
    if (schema[one] !== undefined) apart(where, one, holds(schema, [other]))
  const low = bound("minimum") ?? bound("exclusiveMinimum")
  const high = bound("maximum") ?? bound("exclusiveMaximum")
  return type === "integer" ? NumberRules.integers(low, high) : NumberRules.between(low, high)
}
