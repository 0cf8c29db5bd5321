/**
 * Writes grammars in XGrammar's EBNF: expressions as text, and named rules.
 *
 * An undefined expression matches nothing and is dropped from alternatives.
 */

/** An expression; parenthesised if it is not a single operand. */
export type Expression = string

/** Inclusive code points, in order. */
export type Ranges = ReadonlyArray<readonly [from: number, to: number]>

const hex = (code: number, digits: number): string => code.toString(16).padStart(digits, "0")

const escaped = (code: number): string => {
  const character = String.fromCodePoint(code)
  if (/[A-Za-z0-9]/.test(character)) return character
  // Not \x, which consumes all following hexadecimal digits.
  return code < 0x10000 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`
}

export const empty: Expression = '""'

export const literal = (text: string): Expression =>
  `"${Array.from(text, (character) => escaped(character.codePointAt(0)!)).join("")}"`

type Span = readonly [from: number, to: number]

/** Splits a span so that each part is a product of UTF-8 byte ranges. */
const aligned = ([from, to]: Span): ReadonlyArray<Span> => {
  for (const end of [0x7f, 0x7ff, 0xffff]) if (from <= end && to > end) return split([from, end], [end + 1, to])
  for (const bits of to < 0x80 ? [] : [6, 12, 18]) {
    const mask = 2 ** bits - 1
    if (from >> bits === to >> bits) break
    if ((from & mask) !== 0) return split([from, from | mask], [(from | mask) + 1, to])
    if ((to & mask) !== mask) return split([from, (to & ~mask) - 1], [to & ~mask, to])
  }
  return [[from, to]]
}

const split = (...spans: ReadonlyArray<Span>): ReadonlyArray<Span> => spans.flatMap(aligned)

const encoder = new TextEncoder()

/** The library matches classes by byte, and treats a class of one as a character: so such a byte is listed twice. */
const byteClass = (from: number, to: number): Expression =>
  from === to ? `[${escaped(from)}${escaped(from)}]` : `[${escaped(from)}-${escaped(to)}]`

const outsideAscii = ([from, to]: Span): ReadonlyArray<Expression> =>
  aligned([from, to]).map(([first, last]) => {
    const [low, high] = [encoder.encode(String.fromCodePoint(first)), encoder.encode(String.fromCodePoint(last))]
    return Array.from(low, (byte, at) => byteClass(byte, high[at]!)).join(" ")
  })

/** One character of these; at least one range, without surrogates. */
export const characters = (ranges: Ranges): Expression => {
  const ascii = ranges.flatMap(([from, to]): ReadonlyArray<Span> => (from < 0x80 ? [[from, Math.min(to, 0x7f)]] : []))
  const others = ranges.flatMap(([from, to]): ReadonlyArray<Span> => (to < 0x80 ? [] : [[Math.max(from, 0x80), to]]))
  const parts = [
    ...(ascii.length === 0
      ? []
      : [`[${ascii.map(([from, to]) => (from === to ? escaped(from) : `${escaped(from)}-${escaped(to)}`)).join("")}]`]),
    ...others.flatMap(outsideAscii)
  ]
  return parts.length === 1 && others.length === 0 ? parts[0]! : `(${parts.join(" | ")})`
}

export const sequence = (...all: ReadonlyArray<Expression>): Expression => {
  const parts = all.filter((one) => one !== empty)
  return parts.length === 0 ? empty : parts.length === 1 ? parts[0]! : `(${parts.join(" ")})`
}

export const choice = (all: ReadonlyArray<Expression | undefined>): Expression | undefined => {
  const parts = [...new Set(all.filter((one) => one !== undefined))]
  return parts.length < 2 ? parts[0] : `(${parts.join(" | ")})`
}

/** `to` undefined: unbounded. */
export const repeat = (input: Expression, from: number, to?: number): Expression => {
  // A repetition is no operand of another: `a**`.
  const one = /[*+?}]$/.test(input) ? `(${input})` : input
  if (to === 0) return empty
  if (from === 1 && to === 1) return input
  if (to === undefined) return from === 0 ? `${one}*` : from === 1 ? `${one}+` : `${one}{${from},}`
  return from === 0 && to === 1 ? `${one}?` : from === to ? `${one}{${from}}` : `${one}{${from},${to}}`
}

export const optional = (one: Expression): Expression => repeat(one, 0, 1)

/** Repetitions that are written one by one. The library keeps all optional ones open at once: 400 took minutes. */
const block = 32

/** Repetitions that are not worth a rule. */
const few = 4

export class Rules {
  private readonly bodies = new Map<string, Expression>()
  private readonly parts = new Map<Expression, string>()
  /** Characters of all bodies. */
  length = 0

  /** The name of a rule, which is created on first use. */
  named(name: string, make: () => Expression): Expression {
    if (!this.bodies.has(name)) {
      // A rule may refer to itself.
      this.bodies.set(name, empty)
      this.set(name, make())
    }
    return name
  }

  /** Reserves a new name for a rule that is set later. */
  reserve(hint: string): string {
    const name = `${hint}_${this.bodies.size}`
    this.bodies.set(name, empty)
    return name
  }

  set(name: string, body: Expression): Expression {
    this.bodies.set(name, body)
    this.length += body.length
    return name
  }

  add(hint: string, body: Expression): Expression {
    return this.set(this.reserve(hint), body)
  }

  /** The name of a rule with this body, the same for equal bodies. */
  part(body: Expression): string {
    if (/^\w+$/.test(body)) return body
    const name = this.parts.get(body) ?? this.add("part", body)
    this.parts.set(body, name)
    return name
  }

  /** As `repeat`, in blocks if there are many: two of them are open at most, on each level. */
  counted(one: Expression, from: number, to: number | undefined): Expression {
    if ((to ?? from) <= few) return repeat(one, from, to)
    if ((to ?? from) <= block) return this.part(repeat(one, from, to))
    const unit = this.part(one)
    const more = to === undefined ? repeat(unit, 0) : this.upTo(unit, to - from)
    return this.part(sequence(this.exactly(unit, from), more))
  }

  private exactly(unit: string, count: number): Expression {
    if (count <= block) return repeat(unit, count, count)
    const rest = count % block
    return sequence(
      this.exactly(this.part(repeat(unit, block, block)), (count - rest) / block),
      repeat(unit, rest, rest)
    )
  }

  private upTo(unit: string, count: number): Expression {
    if (count <= block) return repeat(unit, 0, count)
    const rest = count % block
    const blocks = (count - rest) / block
    const whole = this.part(repeat(unit, block, block))
    const some = repeat(unit, 0, block - 1)
    if (rest === block - 1) return sequence(this.upTo(whole, blocks), some)
    const most = sequence(this.exactly(whole, blocks), repeat(unit, 0, rest))
    return this.part(choice([sequence(this.upTo(whole, blocks - 1), some), most])!)
  }

  get size(): number {
    return this.bodies.size
  }

  text(root: Expression): string {
    return [`root ::= ${root}`, ...Array.from(this.bodies, ([name, body]) => `${name} ::= ${body}`)].join("\n")
  }
}
