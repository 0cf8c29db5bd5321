/**
 * Parses Jinja templates: text, expressions and the statements that chat templates use; others are rejected by name.
 */
import type { Body, Expression, FilterUse, Parameter, Statement, Target } from "./Ast.ts"
import { ExpressionParser } from "./ExpressionParser.ts"
import { tokenize } from "./Lexer.ts"

class Parser extends ExpressionParser {
  /** Parses up to a statement of one of these names, whose `{%` and name are consumed. */
  private body(ends: ReadonlyArray<string>): { readonly body: Body; readonly end: string } {
    const body: Array<Statement> = []
    for (let token = this.peek(); token !== undefined; token = this.peek()) {
      this.at++
      if (token.type === "text") body.push({ type: "Text", text: token.value })
      else if (token.type === "expression") {
        body.push({ type: "Output", value: this.tuple() })
        this.take("end")
      } else {
        const name = this.take("name")
        if (ends.includes(name)) return { body, end: name }
        body.push(this.statement(name))
      }
    }
    if (ends.length > 0) this.fail(`{% ${ends.at(-1)} %} is missing`)
    return { body, end: "" }
  }

  /** A body that a single end statement closes. */
  private closed(end: string): Body {
    this.take("end")
    const { body } = this.body([end])
    this.take("end")
    return body
  }

  program(): Body {
    return this.body([]).body
  }

  private statement(name: string): Statement {
    switch (name) {
      case "if":
        return this.ifStatement()
      case "for":
        return this.forStatement()
      case "set":
        return this.setStatement()
      case "macro": {
        const macro = this.take("name")
        const parameters = this.parameters()
        return { type: "Macro", name: macro, parameters, body: this.closed("endmacro") }
      }
      case "call": {
        const parameters = this.is("operator", "(") ? this.parameters() : []
        const call = this.expression()
        if (call.type !== "Call") return this.fail("a call is expected")
        return { type: "CallBlock", parameters, call, body: this.closed("endcall") }
      }
      case "filter": {
        const filters = this.filters()
        return { type: "FilterBlock", filters, body: this.closed("endfilter") }
      }
      case "with": {
        const values: Array<readonly [Target, Expression]> = []
        while (!this.is("end")) {
          if (values.length > 0) this.take("operator", ",")
          const target = this.target()
          this.take("operator", "=")
          values.push([target, this.expression()])
        }
        return { type: "With", values, body: this.closed("endwith") }
      }
      // Marks the assistant's text; does not affect the prompt.
      case "generation":
        return { type: "Scope", body: this.closed("endgeneration") }
      case "break":
      case "continue":
        this.take("end")
        return { type: name === "break" ? "Break" : "Continue" }
      default:
        return this.fail(`the statement {% ${name} %} is not supported`)
    }
  }

  private ifStatement(): Statement {
    const test = this.tuple(false)
    this.take("end")
    const { body: yes, end } = this.body(["elif", "else", "endif"])
    if (end === "elif") return { type: "If", test, yes, no: [this.ifStatement()] }
    if (end === "endif") {
      this.take("end")
      return { type: "If", test, yes, no: [] }
    }
    return { type: "If", test, yes, no: this.closed("endif") }
  }

  private forStatement(): Statement {
    const target = this.target()
    this.take("name", "in")
    const iterable = this.tuple(false, ["if", "recursive"])
    const test = this.word("if") ? this.expression() : undefined
    const isRecursive = this.word("recursive")
    this.take("end")
    const { body, end } = this.body(["else", "endfor"])
    const otherwise = end === "else" ? this.closed("endfor") : []
    if (end !== "else") this.take("end")
    return { type: "For", target, iterable, test, isRecursive, body, otherwise }
  }

  private setStatement(): Statement {
    const target = this.target(true)
    if (this.operator("=")) {
      const value = this.tuple()
      this.take("end")
      return { type: "Set", target, value }
    }
    const filters = this.operator("|") ? this.filters() : []
    return { type: "SetBlock", target, filters, body: this.closed("endset") }
  }

  private filters(): ReadonlyArray<FilterUse> {
    const filters = [this.filterUse()]
    while (this.operator("|")) filters.push(this.filterUse())
    return filters
  }

  private target(hasMembers = false): Target {
    const one = (): Target => {
      if (this.operator("(")) {
        const inner = this.target()
        this.take("operator", ")")
        return inner
      }
      const name = this.take("name")
      if (hasMembers && this.operator(".")) return { type: "Member", of: name, name: this.take("name") }
      return { type: "Name", name }
    }
    const targets = [one()]
    let isTuple = false
    while (this.operator(",")) {
      isTuple = true
      if (!this.is("operator", "(") && (!this.is("name") || this.is("name", "in"))) break
      targets.push(one())
    }
    return isTuple ? { type: "Tuple", targets } : targets[0]!
  }

  private parameters(): ReadonlyArray<Parameter> {
    this.take("operator", "(")
    return this.listed(")", (): Parameter => {
      const name = this.take("name")
      return [name, this.operator("=") ? this.expression() : undefined]
    })
  }
}

/** Throws `TemplateError` if the source is not a valid template. */
export const parse = (source: string): Body => new Parser(tokenize(source)).program()
