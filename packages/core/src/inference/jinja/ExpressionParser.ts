/** Parses the expressions of a Jinja template, with Jinja's precedence. */
import type { Expression, Given, FilterUse } from "./Ast.ts"
import type { Token } from "./Lexer.ts"
import { TokenReader } from "./TokenReader.ts"

const constants = new Map<string, null | boolean>([
  ["true", true],
  ["True", true],
  ["false", false],
  ["False", false],
  ["none", null],
  ["None", null]
])

const comparisons = ["==", "!=", "<", "<=", ">", ">="]

export class ExpressionParser extends TokenReader {
  expression(hasChoice = true): Expression {
    if (!hasChoice) return this.or()
    let value = this.or()
    while (this.word("if")) {
      const test = this.or()
      const no = this.word("else") ? this.expression() : undefined
      value = { type: "Choice", test, yes: value, no }
    }
    return value
  }

  /** One expression, or an unparenthesized tuple. */
  tuple(hasChoice = true, ends: ReadonlyArray<string> = []): Expression {
    const isEnd = () =>
      this.is("end") ||
      this.is("operator", ")") ||
      this.is("operator", "=") ||
      ends.some((word) => this.is("name", word))
    const items: Array<Expression> = []
    let isTuple = false
    while (!isEnd()) {
      items.push(this.expression(hasChoice))
      if (!this.operator(",")) break
      isTuple = true
    }
    const [only] = items
    if (!isTuple && only !== undefined) return only
    if (items.length === 0 && !this.is("operator", ")")) return this.fail("an expression is expected")
    return { type: "Tuple", items }
  }

  private or(): Expression {
    let left = this.and()
    while (this.word("or")) left = { type: "Logical", operator: "or", left, right: this.and() }
    return left
  }

  private and(): Expression {
    let left = this.not()
    while (this.word("and")) left = { type: "Logical", operator: "and", left, right: this.not() }
    return left
  }

  private not(): Expression {
    if (this.is("name", "not") && !this.is("name", "in", 1)) {
      this.at++
      return { type: "Unary", operator: "not", of: this.not() }
    }
    return this.compare()
  }

  private compare(): Expression {
    const first = this.sum()
    const rest: Array<readonly [string, Expression]> = []
    for (;;) {
      const operator = comparisons.find((one) => this.operator(one))
      if (operator !== undefined) rest.push([operator, this.sum()])
      else if (this.word("in")) rest.push(["in", this.sum()])
      else if (this.is("name", "not") && this.is("name", "in", 1)) {
        this.at += 2
        rest.push(["not in", this.sum()])
      } else break
    }
    return rest.length === 0 ? first : { type: "Compare", first, rest }
  }

  private sum(): Expression {
    let left = this.concat()
    for (;;) {
      const operator = ["+", "-"].find((one) => this.operator(one))
      if (operator === undefined) return left
      left = { type: "Binary", operator, left, right: this.concat() }
    }
  }

  private concat(): Expression {
    const parts = [this.product()]
    while (this.operator("~")) parts.push(this.product())
    return parts.length === 1 ? parts[0]! : { type: "Concat", parts }
  }

  private product(): Expression {
    let left = this.power()
    for (;;) {
      const operator = ["*", "/", "//", "%"].find((one) => this.operator(one))
      if (operator === undefined) return left
      left = { type: "Binary", operator, left, right: this.power() }
    }
  }

  private power(): Expression {
    let left = this.unary()
    while (this.operator("**")) left = { type: "Binary", operator: "**", left, right: this.unary() }
    return left
  }

  private unary(hasFilters = true): Expression {
    const sign = (["-", "+"] as const).find((one) => this.operator(one))
    const value: Expression =
      sign === undefined ? this.primary() : { type: "Unary", operator: sign, of: this.unary(false) }
    const whole = this.postfix(value)
    return hasFilters ? this.filtered(whole) : whole
  }

  private primary(): Expression {
    const token = this.peek()
    if (token === undefined) return this.fail("an expression is expected")
    this.at++
    switch (token.type) {
      case "name": {
        const constant = constants.get(token.value)
        return constant === undefined ? { type: "Name", name: token.value } : { type: "Constant", value: constant }
      }
      case "string": {
        let value = token.value
        while (this.is("string")) value += this.take("string")
        return { type: "Constant", value }
      }
      case "integer":
        return { type: "Constant", value: BigInt(token.value.replace(/^0+(?=\d)/, "")) }
      case "float":
        return { type: "Constant", value: Number(token.value) }
      default:
        if (token.value === "(") {
          const inner = this.tuple()
          this.take("operator", ")")
          return inner
        }
        if (token.value === "[") return { type: "List", items: this.listed("]", () => this.expression()) }
        if (token.value === "{") {
          const entries = this.listed("}", () => {
            const key = this.expression()
            this.take("operator", ":")
            return [key, this.expression()] as const
          })
          return { type: "Dict", entries }
        }
        this.at--
        return this.fail(`unexpected ${JSON.stringify(token.value)}`)
    }
  }

  /** Comma-separated, up to a closing bracket. */
  protected listed<A>(close: string, read: () => A): ReadonlyArray<A> {
    const items: Array<A> = []
    while (!this.operator(close)) {
      if (items.length > 0) {
        this.take("operator", ",")
        if (this.operator(close)) break
      }
      items.push(read())
    }
    return items
  }

  private postfix(of: Expression): Expression {
    let value = of
    for (;;) {
      if (this.operator(".")) {
        value = this.is("integer")
          ? { type: "Item", of: value, key: { type: "Constant", value: BigInt(this.take("integer")) } }
          : { type: "Attribute", of: value, name: this.take("name") }
      } else if (this.operator("[")) value = this.subscript(value)
      else if (this.is("operator", "(")) value = { type: "Call", of: value, given: this.given() }
      else return value
    }
  }

  private subscript(of: Expression): Expression {
    const isColon = () => this.is("operator", ":")
    const isClose = () => this.is("operator", "]")
    const first = isColon() ? undefined : this.expression()
    if (!isColon()) {
      if (first !== undefined && this.operator("]")) return { type: "Item", of, key: first }
      return this.fail("a subscript of several keys is not supported")
    }
    const parts: [Expression | undefined, Expression | undefined, Expression | undefined] = [
      first,
      undefined,
      undefined
    ]
    for (let place = 1; place < 3 && this.operator(":"); place++) {
      if (!isColon() && !isClose()) parts[place] = this.expression()
    }
    this.take("operator", "]")
    return { type: "Slice", of, parts }
  }

  protected given(): Given {
    const positional: Array<Given["positional"][number]> = []
    const named: Array<readonly [string, Expression]> = []
    let spread: Expression | undefined
    this.take("operator", "(")
    this.listed(")", () => {
      if (this.operator("**")) spread = this.expression()
      else if (this.operator("*")) positional.push({ value: this.expression(), isSpread: true })
      else if (this.is("name") && this.is("operator", "=", 1)) {
        const name = this.take("name")
        this.at++
        named.push([name, this.expression()])
      } else {
        if (named.length > 0) this.fail("a positional argument follows one with a name")
        positional.push({ value: this.expression(), isSpread: false })
      }
    })
    return { positional, named, spread }
  }

  private dotted(): string {
    let name = this.take("name")
    while (this.operator(".")) name += `.${this.take("name")}`
    return name
  }

  protected filterUse(): FilterUse {
    const name = this.dotted()
    return { name, given: this.is("operator", "(") ? this.given() : { positional: [], named: [], spread: undefined } }
  }

  private filtered(of: Expression): Expression {
    let value = of
    for (;;) {
      if (this.operator("|")) value = { type: "Filter", of: value, ...this.filterUse() }
      else if (this.word("is")) value = this.test(value)
      else if (this.is("operator", "(")) value = { type: "Call", of: value, given: this.given() }
      else return value
    }
  }

  private test(of: Expression): Expression {
    const isNegated = this.word("not")
    const name = this.dotted()
    const none: Given = { positional: [], named: [], spread: undefined }
    const isArgument =
      ["string", "integer", "float"].some((type) => this.is(type as Token["type"])) ||
      this.is("operator", "[") ||
      this.is("operator", "{") ||
      (this.is("name") && !["else", "or", "and", "is", "if", "not", "in"].some((word) => this.is("name", word)))
    const given = this.is("operator", "(")
      ? this.given()
      : isArgument
        ? { ...none, positional: [{ value: this.postfix(this.primary()), isSpread: false }] }
        : none
    return { type: "Test", of, name, given, isNegated }
  }
}
