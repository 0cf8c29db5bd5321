/**
 * Writes grammars of JSON objects: their properties in the schema's order, then others, by count.
 *
 * Each optional property has two rules, one for the case that a member precedes it and one for the case that none does,
 * so that a grammar only grows linearly with the number of properties.
 */
import * as Ebnf from "./Ebnf.ts"
import { Problem } from "./SchemaProblem.ts"
import * as StringRules from "./StringRules.ts"

export interface Property {
  readonly name: string
  readonly isRequired: boolean
  /** Undefined: no value is valid, so the property must be absent. */
  readonly value: Ebnf.Expression | undefined
}

export interface Shape {
  readonly properties: ReadonlyArray<Property>
  /** Values of other keys; undefined if not allowed. */
  readonly others: Ebnf.Expression | undefined
  readonly min: number
  readonly max: number | undefined
}

const space = (rules: Ebnf.Rules): Ebnf.Expression => rules.named("space", () => "[\\u0020\\u000a\\u0009\\u000d]{0,32}")

export const comma = (rules: Ebnf.Rules): Ebnf.Expression => `${space(rules)} "," ${space(rules)}`

/** An expression in brackets, with optional whitespace where JSON allows it. */
export const within = (rules: Ebnf.Rules, open: string, inner: Ebnf.Expression, close: string): Ebnf.Expression =>
  inner === Ebnf.empty
    ? `(${Ebnf.literal(open)} ${space(rules)} ${Ebnf.literal(close)})`
    : `(${Ebnf.literal(open)} ${space(rules)} ${inner} ${space(rules)} ${Ebnf.literal(close)})`

const member = (rules: Ebnf.Rules, key: Ebnf.Expression, value: Ebnf.Expression): Ebnf.Expression =>
  `${key} ${space(rules)} ":" ${space(rules)} ${value}`

export const named = (rules: Ebnf.Rules, name: string, value: Ebnf.Expression): Ebnf.Expression =>
  member(rules, Ebnf.literal(JSON.stringify(name)), value)

interface Branch {
  isEnd: boolean
  readonly next: Map<string, Branch>
}

/** The characters of a name as JSON writes them, each a unit. */
const units = (name: string): ReadonlyArray<string> => Array.from(name, StringRules.escapeText)

/**
 * Any key except these names; each character is written in its canonical form, so that an escape cannot hide a name.
 */
const otherKey = (rules: Ebnf.Rules, names: ReadonlyArray<string>): Ebnf.Expression => {
  const root: Branch = { isEnd: false, next: new Map() }
  for (const name of names) {
    let at = root
    for (const unit of units(name)) {
      const next = at.next.get(unit) ?? { isEnd: false, next: new Map<string, Branch>() }
      at.next.set(unit, next)
      at = next
    }
    at.isEnd = true
  }
  const keyCharacter = rules.named("key", () => StringRules.character(StringRules.all)!)
  const rest = `${keyCharacter}* ${StringRules.quote}`
  const from = ({ isEnd, next }: Branch): Ebnf.Expression => {
    const taken = [...next.keys()].map((unit) => {
      // A unit is one character of a string.
      const code = (JSON.parse(`"${unit}"`) as string).codePointAt(0)!
      return [code, code] as const
    })
    const other = StringRules.character(StringRules.without(taken))
    const parts = [
      isEnd ? undefined : StringRules.quote,
      other && Ebnf.sequence(other, rest),
      ...Array.from(next, ([unit, branch]) => Ebnf.sequence(Ebnf.literal(unit), from(branch)))
    ]
    return rules.add("other", Ebnf.choice(parts)!)
  }
  return names.length === 0 ? Ebnf.sequence(StringRules.quote, rest) : Ebnf.sequence(StringRules.quote, from(root))
}

/** Max properties of an object where they are counted: it has a rule for each property and count. */
const maxCounted = 100

/** Contents of the braces; undefined if nothing is valid. */
export const members = (rules: Ebnf.Rules, shape: Shape): Ebnf.Expression | undefined => {
  const { max, min, others, properties } = shape
  const possible = properties.filter(({ value }) => value !== undefined)
  if (properties.some(({ isRequired, value }) => isRequired && value === undefined)) return undefined
  const required = possible.filter(({ isRequired }) => isRequired).length
  const other =
    others &&
    rules.add(
      "more",
      member(
        rules,
        otherKey(
          rules,
          properties.map(({ name }) => name)
        ),
        others
      )
    )
  const isCounted = min > required || (max !== undefined && (other !== undefined || max < possible.length))
  if (isCounted && possible.length > maxCounted) {
    throw new Problem(
      `the schema is too large: minProperties and maxProperties are held for ${maxCounted} properties, not ${possible.length}`
    )
  }
  const known = new Map<string, Ebnf.Expression | undefined>()
  const pairs = possible.map(({ name, value }) => rules.add("member", named(rules, name, value!)))
  /** Contents after the first `at` properties, of which `count` are present. */
  const from = (at: number, count: number): Ebnf.Expression | undefined => {
    const isFirst = count === 0
    const key = `${at} ${isCounted ? count : isFirst}`
    if (known.has(key)) return known.get(key)
    const before = (one: Ebnf.Expression) => (isFirst ? one : `${comma(rules)} ${one}`)
    const made = make(at, count, before)
    const named =
      made === undefined || made === Ebnf.empty || at === possible.length ? made : rules.add("members", made)
    known.set(key, named)
    return named
  }
  const make = (
    at: number,
    count: number,
    before: (one: Ebnf.Expression) => Ebnf.Expression
  ): Ebnf.Expression | undefined => {
    if (max !== undefined && count > max) return undefined
    if (at === possible.length) {
      const lowest = Math.max(0, min - count)
      const limit = max === undefined ? undefined : max - count
      if (other === undefined || limit === 0) return lowest > 0 ? undefined : Ebnf.empty
      const more = `(${comma(rules)} ${other})`
      const first = Ebnf.sequence(
        before(other),
        rules.counted(more, Math.max(0, lowest - 1), limit === undefined ? undefined : limit - 1)
      )
      return lowest > 0 ? first : Ebnf.optional(`(${first})`)
    }
    const then = from(at + 1, count + 1)
    const present = then === undefined ? undefined : Ebnf.sequence(before(pairs[at]!), then)
    return possible[at]!.isRequired ? present : Ebnf.choice([present, from(at + 1, count)])
  }
  return from(0, 0)
}
