/**
 * Converts regular expressions of JSON schemas to grammars of JSON string contents: characters are escaped as in JSON,
 * and text around a match is allowed unless anchored, as the standard specifies.
 *
 * Unsupported features (inner assertions, backreferences, Unicode properties) are rejected by name.
 */
import { Result } from "effect"
import * as Ebnf from "./Ebnf.ts"
import * as PatternTree from "./PatternTree.ts"
import * as StringRules from "./StringRules.ts"

/** Anchors of one alternative. */
interface Branch {
  readonly isStart: boolean
  readonly isEnd: boolean
  readonly tree: PatternTree.Tree | undefined
}

const only = (ranges: Ebnf.Ranges): number | undefined =>
  ranges.length === 1 && ranges[0]![0] === ranges[0]![1] ? ranges[0]![0] : undefined

const { Unsupported } = PatternTree

const range = (from: number | string, to: number | string = from): readonly [number, number] => [
  typeof from === "string" ? from.codePointAt(0)! : from,
  typeof to === "string" ? to.codePointAt(0)! : to
]

const digits: Ebnf.Ranges = [range("0", "9")]
const words: Ebnf.Ranges = [range("0", "9"), range("A", "Z"), range("_"), range("a", "z")]
const blanks: Ebnf.Ranges = [
  range(9, 13),
  range(" "),
  range(0xa0),
  range(0x1680),
  range(0x2000, 0x200a),
  range(0x2028, 0x2029),
  range(0x202f),
  range(0x205f),
  range(0x3000),
  range(0xfeff)
]
const lineEnds: Ebnf.Ranges = [range("\n"), range("\r"), range(0x2028, 0x2029)]
const controls: { readonly [letter: string]: number } = { n: 10, r: 13, t: 9, f: 12, v: 11, "0": 0 }
const sets: { readonly [letter: string]: Ebnf.Ranges } = {
  d: digits,
  D: StringRules.without(digits),
  w: words,
  W: StringRules.without(words),
  s: blanks,
  S: StringRules.without(blanks)
}

/** Max repetitions; more are not plausible for short texts. */
const maxRepeats = 1000

class Reader {
  private readonly text: ReadonlyArray<string>
  private at = 0

  constructor(pattern: string) {
    this.text = Array.from(pattern)
  }

  get isDone(): boolean {
    return this.at >= this.text.length
  }

  private peek(): string | undefined {
    return this.text[this.at]
  }

  private take(expected?: string): string {
    const one = this.text[this.at++]
    if (one === undefined || (expected !== undefined && one !== expected)) {
      throw new Unsupported(one === undefined ? "it ends too early" : `${one} where ${expected} is expected`)
    }
    return one
  }

  private skip(text: string): boolean {
    const isNext = this.text.slice(this.at, this.at + text.length).join("") === text
    if (isNext) this.at += text.length
    return isNext
  }

  /** `isTop`: anchors are allowed at its ends. */
  branches(isTop: boolean): ReadonlyArray<Branch> {
    const all = [this.branch(isTop)]
    while (this.skip("|")) all.push(this.branch(isTop))
    return all
  }

  private branch(isTop: boolean): Branch {
    const isStart = isTop && this.skip("^")
    let isEnd = false
    const parts: Array<PatternTree.Tree | undefined> = []
    while (!this.isDone && this.peek() !== "|" && this.peek() !== ")") {
      if (isTop && this.peek() === "$") {
        this.at++
        isEnd = true
        if (!this.isDone && this.peek() !== "|" && this.peek() !== "$") throw new Unsupported("$ inside of it")
        continue
      }
      parts.push(this.repeated())
    }
    return { isStart, isEnd, tree: PatternTree.sequence(parts) }
  }

  private repeated(): PatternTree.Tree | undefined {
    const one = this.atom()
    const times = this.times()
    return times === undefined ? one : PatternTree.repeat(one, ...times)
  }

  private times(): readonly [from: number, to: number | undefined] | undefined {
    const next = this.peek()
    let found: readonly [number, number | undefined]
    if (next === "*") found = [0, undefined]
    else if (next === "+") found = [1, undefined]
    else if (next === "?") found = [0, 1]
    else {
      const counted = /^\{(\d+)(?:(,)(\d*))?\}/.exec(this.text.slice(this.at, this.at + 24).join(""))
      if (counted === null) return undefined
      const from = Number(counted[1])
      const to = counted[2] === undefined ? from : counted[3] === "" ? undefined : Number(counted[3])
      if (Math.max(from, to ?? 0) > maxRepeats) throw new Unsupported(`${counted[0]}, more than ${maxRepeats} times`)
      if (to !== undefined && to < from) throw new Unsupported(`${counted[0]}, which is out of order`)
      found = [from, to]
      this.at += counted[0].length - 1
    }
    this.at++
    // A lazy quantifier matches the same texts.
    if (this.peek() === "?") this.at++
    else if (this.peek() === "+" || this.peek() === "*") throw new Unsupported(`${next}${this.peek()}`)
    return found
  }

  private atom(): PatternTree.Tree | undefined {
    const one = this.take()
    switch (one) {
      case "(":
        return this.group()
      case "[":
        return PatternTree.characters(this.set())
      case ".":
        return PatternTree.characters(StringRules.without(lineEnds))
      case "\\":
        return PatternTree.characters(this.escape())
      case "^":
      case "$":
        throw new Unsupported(`${one} inside of it`)
      case "*":
      case "+":
      case "?":
        throw new Unsupported(`${one} with nothing before it`)
      default:
        return PatternTree.characters([range(one)])
    }
  }

  private group(): PatternTree.Tree | undefined {
    if (this.skip("?")) {
      const isNamed = this.peek() === "<" && this.text[this.at + 1] !== "=" && this.text[this.at + 1] !== "!"
      if (isNamed) while (this.take() !== ">");
      else if (!this.skip(":")) throw new Unsupported(`(?${this.peek() ?? ""}`)
    }
    const all = this.branches(false)
    this.take(")")
    return PatternTree.choice(all.map(({ tree }) => tree))
  }

  private hex(count: number): number {
    const digits = Array.from({ length: count }, () => this.take()).join("")
    if (!/^[0-9a-f]+$/i.test(digits)) throw new Unsupported(`the escape ${digits}`)
    return Number.parseInt(digits, 16)
  }

  private escape(): Ebnf.Ranges {
    const one = this.take()
    const set = Object.hasOwn(sets, one) ? sets[one] : undefined
    if (set !== undefined) return set
    if (Object.hasOwn(controls, one) && !/\d/.test(one === "0" ? (this.peek() ?? "") : ""))
      return [range(controls[one]!)]
    if (one === "x") return [range(this.hex(2))]
    if (one === "u") {
      if (this.skip("{")) {
        let text = ""
        while (this.peek() !== "}") text += this.take()
        this.take("}")
        return [range(Number.parseInt(text, 16))]
      }
      const high = this.hex(4)
      if (high >= 0xd800 && high < 0xdc00 && this.skip("\\u")) {
        return [range(0x10000 + ((high - 0xd800) << 10) + (this.hex(4) - 0xdc00))]
      }
      return [range(high)]
    }
    if (/[A-Za-z0-9]/.test(one)) throw new Unsupported(`\\${one}`)
    return [range(one)]
  }

  private set(): Ebnf.Ranges {
    const isNegated = this.skip("^")
    const ranges: Array<readonly [number, number]> = []
    while (this.peek() !== "]") {
      const from = this.member()
      if (this.peek() !== "-" || this.text[this.at + 1] === "]" || this.text[this.at + 1] === undefined) {
        ranges.push(...from)
        continue
      }
      this.at++
      const to = this.member()
      const [low, high] = [only(from), only(to)]
      // Next to a character class the dash is literal.
      if (low === undefined || high === undefined) ranges.push(...from, range("-"), ...to)
      else if (low > high) throw new Unsupported("a range that is out of order")
      else ranges.push([low, high])
    }
    this.take("]")
    return isNegated ? StringRules.without(ranges) : ranges
  }

  private member(): Ebnf.Ranges {
    const one = this.take()
    if (one !== "\\") return [range(one)]
    if (this.skip("b")) return [range(8)]
    return this.skip("-") ? [range("-")] : this.escape()
  }
}

/** The contents of strings in which a pattern is found, or its unsupported feature. */
export const make = (pattern: string, rules: Ebnf.Rules): Result.Result<Ebnf.Expression, string> =>
  Result.try({
    try: () => {
      const reader = new Reader(pattern)
      const branches = reader.branches(true)
      if (!reader.isDone) throw new Unsupported("an unmatched )")
      const any = Ebnf.repeat(StringRules.anyCharacter(rules), 0)
      const expression = Ebnf.choice(
        branches.map(({ isEnd, isStart, tree }) => {
          if (tree === undefined) return undefined
          const found = PatternTree.trim(tree, isStart, isEnd)
          if (found === PatternTree.empty && !isEnd) return any
          const written = PatternTree.write(found, rules)
          return Ebnf.sequence(isStart ? Ebnf.empty : any, written, isEnd ? Ebnf.empty : any)
        })
      )
      if (expression === undefined) throw new Unsupported("no matching text")
      return expression
    },
    catch: (cause) => (cause instanceof Unsupported ? cause.message : String(cause))
  })
