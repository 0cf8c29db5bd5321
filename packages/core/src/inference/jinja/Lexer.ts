/**
 * Tokenizes a Jinja template as Jinja does with `trim_blocks` and `lstrip_blocks`: the line break after a tag is
 * removed, and so is the whitespace before one that begins its line; `-` and `+` override that.
 */
import * as PythonString from "../../base/PythonString.ts"

export interface Token {
  /** `text`, `begin` and `end` of a statement or an expression, and the tokens within. */
  readonly type: "text" | "statement" | "expression" | "end" | "name" | "string" | "integer" | "float" | "operator"
  readonly value: string
  readonly line: number
}

export class TemplateError extends Error {
  override readonly name = "TemplateError"
}

/** Longer ones first. */
const operators = "** // == != <= >= + - * / % ~ < > = . , : | ( ) [ ] { }".split(" ")

const space = /\s*/y
const name = /[\p{L}_][\p{L}\p{N}\p{M}_]*/uy
const float = /\d(?:_?\d)*(?:\.\d(?:_?\d)*)(?:[eE][+-]?\d(?:_?\d)*)?|\d(?:_?\d)*[eE][+-]?\d(?:_?\d)*/y
const integer = /0[bB](?:_?[01])+|0[oO](?:_?[0-7])+|0[xX](?:_?[\da-fA-F])+|\d(?:_?\d)*/y
const string = /'(?:[^'\\]|\\[\s\S])*'|"(?:[^"\\]|\\[\s\S])*"/y
const endOfRaw = /\{%([-+]?)\s*endraw\s*([-+]?)%\}\n?/g
const raw = /\{%[-+]?\s*raw\s*([-+]?)%\}/y

/** A literal with Python's escapes; unknown ones are kept. */
const unescaped = (literal: string): string =>
  PythonString.unescape(literal, (escape) => {
    throw new TemplateError(`invalid escape ${escape}`)
  })

const lineOf = (source: string, at: number): number => source.slice(0, at).split("\n").length

export const tokenize = (given: string): ReadonlyArray<Token> => {
  const source = given.replace(/\r\n?/g, "\n").replace(/\n$/, "")
  const tokens: Array<Token> = []
  let at = 0
  let isLineStart = true
  const fail = (message: string): never => {
    throw new TemplateError(`${message}, line ${lineOf(source, at)} of the template`)
  }
  const push = (type: Token["type"], value: string) => tokens.push({ type, value, line: lineOf(source, at) })
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at
    const found = pattern.exec(source)?.[0]
    if (found !== undefined) at += found.length
    return found
  }
  /** Text before a tag, trimmed according to the tag's sign. */
  const pushText = (text: string, sign: string, isBlock: boolean) => {
    const lineStart = text.lastIndexOf("\n") + 1
    const isBlank = text.slice(lineStart).trim() === "" && (lineStart > 0 || isLineStart)
    const kept = sign === "-" ? text.trimEnd() : isBlock && sign !== "+" && isBlank ? text.slice(0, lineStart) : text
    if (kept !== "") push("text", kept)
  }
  /** Skips what a tag removes after it. */
  const closed = (sign: string, isBlock: boolean) => {
    if (sign === "-") take(space)
    else if (isBlock && sign !== "+" && source[at] === "\n") at++
    isLineStart = source[at - 1] === "\n"
  }
  const signAt = (place: number): string => /[-+]/.exec(source[place] ?? "")?.[0] ?? ""

  const inside = (end: "%}" | "}}") => {
    const open: Array<string> = []
    for (;;) {
      take(space)
      if (at >= source.length) fail(`${end} is missing`)
      const sign = open.length === 0 && signAt(at) !== "" && source.startsWith(end, at + 1) ? source[at]! : ""
      if (open.length === 0 && source.startsWith(end, at + sign.length)) {
        push("end", end)
        at += sign.length + end.length
        return closed(sign, end === "%}")
      }
      const literal = take(string)
      if (literal !== undefined) {
        push("string", unescaped(literal))
        continue
      }
      const fraction = tokens.at(-1)?.value === "." ? undefined : take(float)
      if (fraction !== undefined) {
        push("float", fraction.replaceAll("_", ""))
        continue
      }
      const whole = take(integer)
      if (whole !== undefined) {
        push("integer", whole.replaceAll("_", ""))
        continue
      }
      const word = take(name)
      if (word !== undefined) {
        push("name", word)
        continue
      }
      const operator = operators.find((one) => source.startsWith(one, at))
      if (operator === undefined) return fail(`unexpected ${JSON.stringify(source[at])}`)
      if ("([{".includes(operator)) open.push(operator)
      else if (")]}".includes(operator)) open.pop()
      push("operator", operator)
      at += operator.length
    }
  }

  const tag = /\{[%{#]/g
  while (at < source.length) {
    tag.lastIndex = at
    const found = tag.exec(source)
    if (found === null) {
      push("text", source.slice(at))
      break
    }
    const [opening] = found
    const sign = signAt(found.index + 2)
    const isBlock = opening !== "{{"
    pushText(source.slice(at, found.index), sign, isBlock)
    at = found.index
    raw.lastIndex = at
    const verbatim = raw.exec(source)
    if (verbatim !== null) {
      const [all, after = ""] = verbatim
      at += all.length
      // The line break after this tag is kept.
      closed(after, false)
      endOfRaw.lastIndex = at
      const end = endOfRaw.exec(source)
      if (end === null) return fail("{% endraw %} is missing")
      pushText(source.slice(at, end.index), end[1] ?? "", true)
      at = end.index + end[0].length - (end[0].endsWith("\n") ? 1 : 0)
      closed(end[2] ?? "", true)
      continue
    }
    if (opening === "{#") {
      const end = source.indexOf("#}", at + 2)
      if (end === -1) return fail("#} is missing")
      at = end + 2
      closed(end > found.index + 2 ? signAt(end - 1) : "", true)
      continue
    }
    at += 2 + sign.length
    push(opening === "{%" ? "statement" : "expression", opening)
    inside(opening === "{%" ? "%}" : "}}")
  }
  return tokens
}
