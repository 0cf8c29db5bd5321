/**
 * Renders parsed Jinja templates as `transformers` does: Jinja's scopes, filters and tests over Python's values.
 *
 * An undefined name prints as an empty string and rejects everything else. Unsupported features are errors that name
 * them; nothing silently renders differently.
 */
import type { Body, Expression, FilterUse, Given, Parameter, Statement, Target } from "./Ast.ts"
import * as Attributes from "./Attributes.ts"
import { TemplateError } from "./Lexer.ts"
import { listFilters, type Library, noArguments } from "./ListFilters.ts"
import * as Loop from "./Loop.ts"
import * as Operators from "./Operators.ts"
import { Scope } from "./Scope.ts"
import { type Filter, textFilters } from "./TextFilters.ts"
import { signs, tests } from "./Tests.ts"
import * as Values from "./Values.ts"
import { str } from "./Written.ts"

type Value = Values.Value

type Ending = "break" | "continue" | undefined

type Output = Array<string>

export class Interpreter implements Library {
  private readonly filters: { readonly [name: string]: Filter }

  constructor() {
    this.filters = { ...textFilters, ...listFilters(this) }
  }

  render(body: Body, names: ReadonlyMap<string, Value>): string {
    const scope = new Scope()
    for (const [name, value] of names) scope.set(name, value)
    const output: Output = []
    this.run(body, scope, output)
    return output.join("")
  }

  filter(name: string, value: Value, given: Values.Arguments): Value {
    const filter = Object.hasOwn(this.filters, name) ? this.filters[name] : undefined
    if (filter === undefined) throw new TemplateError(`the filter ${name} is not supported`)
    return filter(value, given)
  }

  test(name: string, value: Value, given: Values.Arguments): boolean {
    const plain = signs[name] ?? name
    if (plain === "filter") return Object.hasOwn(this.filters, str(value))
    if (plain === "test") return Object.hasOwn(tests, str(value))
    const test = Object.hasOwn(tests, plain) ? tests[plain] : undefined
    if (test === undefined) throw new TemplateError(`the test ${name} is not supported`)
    return test(value, given)
  }

  private run(body: Body, scope: Scope, output: Output): Ending {
    for (const statement of body) {
      const ending = this.statement(statement, scope, output)
      if (ending !== undefined) return ending
    }
    return undefined
  }

  private text(body: Body, scope: Scope): string {
    const output: Output = []
    this.run(body, scope, output)
    return output.join("")
  }

  private statement(statement: Statement, scope: Scope, output: Output): Ending {
    switch (statement.type) {
      case "Text":
        output.push(statement.text)
        return undefined
      case "Output":
        output.push(str(this.value(statement.value, scope)))
        return undefined
      case "If":
        return this.run(Values.truth(this.value(statement.test, scope)) ? statement.yes : statement.no, scope, output)
      case "For":
        return this.loop(statement, this.value(statement.iterable, scope), scope, output, 0)
      case "Set":
        this.assign(statement.target, this.value(statement.value, scope), scope)
        return undefined
      case "SetBlock":
        this.assign(
          statement.target,
          this.filtered(statement.filters, this.text(statement.body, new Scope(scope)), scope),
          scope
        )
        return undefined
      case "Macro":
        scope.set(statement.name, this.macro(statement.name, statement.parameters, statement.body, scope))
        return undefined
      case "CallBlock": {
        const { body, call, parameters } = statement
        const caller = this.macro("caller", parameters, body, scope)
        if (call.type === "Call") output.push(str(this.call(call.of, call.given, scope, caller)))
        return undefined
      }
      case "FilterBlock":
        output.push(str(this.filtered(statement.filters, this.text(statement.body, new Scope(scope)), scope)))
        return undefined
      case "With": {
        const inner = new Scope(scope)
        for (const [target, value] of statement.values) this.assign(target, this.value(value, scope), inner)
        return this.run(statement.body, inner, output)
      }
      case "Scope":
        return this.run(statement.body, new Scope(scope), output)
      case "Break":
        return "break"
      case "Continue":
        return "continue"
    }
  }

  private filtered(filters: ReadonlyArray<FilterUse>, text: Value, scope: Scope): Value {
    return filters.reduce((value, { given, name }) => this.filter(name, value, this.arguments(given, scope)), text)
  }

  private assign(target: Target, value: Value, scope: Scope): void {
    if (target.type === "Name") return scope.set(target.name, value)
    if (target.type === "Member") {
      const of = scope.get(target.of)
      if (!(of instanceof Values.Namespace)) return Values.refuse("cannot assign attribute on non-namespace object")
      of.members.set(target.name, value)
      return
    }
    const items = Values.iterate(value)
    if (items.length !== target.targets.length) {
      return Values.refuse(`${target.targets.length} values to unpack, got ${items.length}`)
    }
    for (const [at, one] of target.targets.entries()) this.assign(one, items[at], scope)
  }

  private loop(
    statement: Extract<Statement, { readonly type: "For" }>,
    iterable: Value,
    scope: Scope,
    output: Output,
    depth: number
  ): Ending {
    const { body, isRecursive, otherwise, target, test } = statement
    if (depth > 100) return Values.refuse("a loop recurses without end")
    const items = Values.iterate(iterable).filter((one) => {
      if (test === undefined) return true
      const inner = new Scope(scope)
      this.assign(target, one, inner)
      return Values.truth(this.value(test, inner))
    })
    if (items.length === 0) return this.run(otherwise, scope, output)
    const again = (value: Value): string => {
      const inner: Output = []
      this.loop(statement, value, scope, inner, depth + 1)
      return inner.join("")
    }
    const loop = Loop.make(items, depth)
    for (const [at, one] of items.entries()) {
      const inner = new Scope(scope)
      const recur = ({ positional: [value] }: Values.Arguments) =>
        isRecursive ? again(value) : Values.refuse("a loop that is not recursive was called")
      inner.set("loop", new Values.Callable("loop", recur, loop(at)))
      this.assign(target, one, inner)
      if (this.run(body, inner, output) === "break") break
    }
    return undefined
  }

  private macro(name: string, parameters: ReadonlyArray<Parameter>, body: Body, scope: Scope): Values.Callable {
    const names = new Set(parameters.map(([parameter]) => parameter))
    return new Values.Callable(
      name,
      ({ named, positional }) => {
        const inner = new Scope(scope)
        const rest = new Map(named)
        for (const [at, [parameter, otherwise]] of parameters.entries()) {
          if (at < positional.length) inner.set(parameter, positional[at])
          else if (rest.has(parameter)) inner.set(parameter, rest.get(parameter))
          else if (otherwise === undefined)
            inner.set(parameter, new Values.Undefined(`parameter '${parameter}' was not provided: it`))
          else inner.set(parameter, this.value(otherwise, inner))
        }
        const others = [...rest].filter(([key]) => !names.has(key) && key !== "caller")
        if (rest.has("caller")) inner.set("caller", rest.get("caller"))
        const usesOthers = (word: string) =>
          JSON.stringify(body, (_, one: unknown) => (typeof one === "bigint" ? 0 : one)).includes(`"name":"${word}"`)
        if (positional.length > parameters.length && !usesOthers("varargs")) {
          return Values.refuse(`macro '${name}' takes not more than ${parameters.length} argument(s)`)
        }
        if (others.length > 0 && !usesOthers("kwargs")) {
          return Values.refuse(`macro '${name}' takes no keyword argument '${others[0]![0]}'`)
        }
        inner.set("varargs", new Values.Tuple(positional.slice(parameters.length)))
        inner.set("kwargs", new Map(others))
        return this.text(body, inner)
      },
      new Map<string, () => Values.Value>([
        ["name", () => name],
        ["arguments", () => new Values.Tuple(parameters.map(([parameter]) => parameter))]
      ])
    )
  }

  private arguments({ named, positional, spread }: Given, scope: Scope): Values.Arguments {
    if (positional.length === 0 && named.length === 0 && spread === undefined) return noArguments
    const more = spread === undefined ? new Map<string, Value>() : this.value(spread, scope)
    if (!(more instanceof Map)) return Values.refuse("argument after ** must be a mapping")
    return {
      positional: positional.flatMap(({ isSpread, value }) => {
        const one = this.value(value, scope)
        return isSpread ? [...Values.iterate(one)] : [one]
      }),
      named: new Map([...named.map(([name, value]) => [name, this.value(value, scope)] as const), ...more])
    }
  }

  private call(of: Expression, given: Given, scope: Scope, caller?: Values.Callable): Value {
    const callee = this.value(of, scope)
    if (callee instanceof Values.Undefined) return callee.fail()
    if (!(callee instanceof Values.Callable)) return Values.refuse(`'${Values.typeOf(callee)}' object is not callable`)
    const { named, positional } = this.arguments(given, scope)
    return callee.call({ positional, named: caller === undefined ? named : new Map([...named, ["caller", caller]]) })
  }

  private value(expression: Expression, scope: Scope): Value {
    switch (expression.type) {
      case "Constant":
        return expression.value
      case "Name":
        return scope.get(expression.name)
      case "List":
        return expression.items.map((one) => this.value(one, scope))
      case "Tuple":
        return new Values.Tuple(expression.items.map((one) => this.value(one, scope)))
      case "Dict":
        return expression.entries.reduce((all, [key, one]) => {
          const name = Values.hashable(this.value(key, scope))
          // Numbers that are equal are one key: 1, 1.0 and true.
          const same = Values.isNumber(name) ? [...all.keys()].find((other) => Values.equals(other, name)) : undefined
          return all.set(same ?? name, this.value(one, scope))
        }, new Map<Values.Value, Values.Value>())
      case "Attribute":
        return Attributes.member(this.value(expression.of, scope), expression.name)
      case "Item":
        return Attributes.at(this.value(expression.of, scope), this.value(expression.key, scope))
      case "Slice":
        return Values.slice(
          this.value(expression.of, scope),
          expression.parts.map((part) => part && this.value(part, scope))
        )
      case "Call":
        return this.call(expression.of, expression.given, scope)
      case "Filter":
        return this.filter(expression.name, this.value(expression.of, scope), this.arguments(expression.given, scope))
      case "Test": {
        const value = this.value(expression.of, scope)
        return this.test(expression.name, value, this.arguments(expression.given, scope)) !== expression.isNegated
      }
      case "Unary":
        return expression.operator === "not"
          ? !Values.truth(this.value(expression.of, scope))
          : Operators.unary(expression.operator, this.value(expression.of, scope))
      case "Binary":
        return Operators.binary(
          expression.operator,
          this.value(expression.left, scope),
          this.value(expression.right, scope)
        )
      case "Logical": {
        const left = this.value(expression.left, scope)
        return Values.truth(left) === (expression.operator === "or") ? left : this.value(expression.right, scope)
      }
      case "Compare": {
        let left = this.value(expression.first, scope)
        for (const [operator, other] of expression.rest) {
          const right = this.value(other, scope)
          if (!Operators.compared(operator, left, right)) return false
          left = right
        }
        return true
      }
      case "Concat":
        return Operators.concat(expression.parts.map((part) => this.value(part, scope)))
      case "Choice":
        if (Values.truth(this.value(expression.test, scope))) return this.value(expression.yes, scope)
        return expression.no === undefined
          ? new Values.Undefined("the inline if-expression evaluated to false and no else section was defined: it")
          : this.value(expression.no, scope)
    }
  }
}
