/**
 * Extracts tool calls from a plan written as Python, as in the column `Filled_Plan` of T1.
 *
 * `hotels = search_hotels(city="Austin", stars=[4, 5])` is the call of `search_hotels` with these arguments. Calls
 * count anywhere, including inside others; functions that are not tools do not, nor do positional arguments. Values are
 * literals; anything else is kept as source text, so that a variable becomes its name.
 */
import { Result } from "effect"
import type { ToolCalls } from "@atropos/core"

interface Token {
  readonly kind: "name" | "text" | "number" | "mark"
  readonly text: string
  /** For a string: its content. */
  readonly value?: string
  readonly at: number
}

const word = /[A-Za-z_]\w*/y
const number = /\d[\d_]*(?:\.\d*)?(?:[eE][-+]?\d+)?/y

const escapes: { readonly [letter: string]: string } = { n: "\n", t: "\t", r: "\r", "\n": "" }

/** A string from its quote on, and the position of its end; undefined if unterminated. */
const textAt = (code: string, start: number): readonly [value: string, end: number] | undefined => {
  const quote = code[start]!
  const mark = code.startsWith(quote.repeat(3), start) ? quote.repeat(3) : quote
  let value = ""
  for (let at = start + mark.length; at < code.length; at++) {
    if (code.startsWith(mark, at)) return [value, at + mark.length]
    if (code[at] === "\n" && mark.length === 1) return undefined
    if (code[at] !== "\\") value += code[at]
    else value += escapes[code[++at] ?? ""] ?? code[at] ?? ""
  }
  return undefined
}

const found = (expression: RegExp, code: string, at: number): string | undefined => {
  expression.lastIndex = at
  return expression.exec(code)?.[0]
}

const tokensOf = (code: string): Result.Result<ReadonlyArray<Token>, string> => {
  const tokens: Array<Token> = []
  for (let at = 0; at < code.length;) {
    const one = code[at]!
    if (/\s/.test(one)) at++
    else if (one === "#") {
      const end = code.indexOf("\n", at)
      at = end === -1 ? code.length : end
    } else if (one === '"' || one === "'") {
      const text = textAt(code, at)
      if (text === undefined) return Result.fail(`a text does not end: ${code.slice(at, at + 80)}`)
      tokens.push({ kind: "text", text: code.slice(at, text[1]), value: text[0], at })
      at = text[1]
    } else {
      const name = found(word, code, at)
      const text = name ?? found(number, code, at) ?? one
      tokens.push({ kind: name !== undefined ? "name" : text === one && !/\d/.test(one) ? "mark" : "number", text, at })
      at += text.length
    }
  }
  return Result.succeed(tokens)
}

const opens = new Set(["(", "[", "{"])
const closes = new Set([")", "]", "}"])
const constants: { readonly [name: string]: unknown } = { True: true, False: false, None: null }

/** The parts between the commas of a bracket that opens at a token, and the index where it closes. */
const partsOf = (
  tokens: ReadonlyArray<Token>,
  open: number
): { readonly parts: ReadonlyArray<ReadonlyArray<Token>>; readonly close: number } | undefined => {
  const parts: Array<ReadonlyArray<Token>> = []
  let depth = 0
  let from = open + 1
  for (let at = open; at < tokens.length; at++) {
    const { kind, text } = tokens[at]!
    if (kind !== "mark") continue
    if (opens.has(text)) depth++
    const isEnd = closes.has(text) && --depth === 0
    if (isEnd || (text === "," && depth === 1)) {
      if (at > from) parts.push(tokens.slice(from, at))
      from = at + 1
    }
    if (isEnd) return { parts, close: at }
  }
  return undefined
}

/** A literal, else the source itself. */
const valueOf = (code: string, tokens: ReadonlyArray<Token>): unknown => {
  const [first, second] = tokens
  const last = tokens.at(-1)
  if (first === undefined || last === undefined) return ""
  if (tokens.every(({ kind }) => kind === "text")) return tokens.map(({ value }) => value).join("")
  if (tokens.length === 1 && first.kind === "number") return Number(first.text.replaceAll("_", ""))
  if (tokens.length === 1 && Object.hasOwn(constants, first.text)) return constants[first.text]
  if (tokens.length === 2 && second!.kind === "number" && (first.text === "-" || first.text === "+")) {
    return Number(`${first.text}${second!.text.replaceAll("_", "")}`)
  }
  if (first.kind === "mark" && opens.has(first.text)) {
    const whole = partsOf(tokens, 0)
    if (whole?.close === tokens.length - 1) {
      if (first.text === "(" && whole.parts.length === 1 && tokens.at(-2)?.text !== ",")
        return valueOf(code, whole.parts[0]!)
      const isMap = first.text === "{" && whole.parts.every((part) => part[1]?.text === ":")
      return isMap
        ? Object.fromEntries(
            whole.parts.map(([key, , ...value]) => [String(valueOf(code, [key!])), valueOf(code, value)] as const)
          )
        : whole.parts.map((part) => valueOf(code, part))
    }
  }
  return code.slice(first.at, last.at + last.text.length)
}

/** The calls of these tools, or why the plan cannot be parsed. */
export const callsOf = (
  code: string,
  tools: ReadonlySet<string>
): Result.Result<ReadonlyArray<ToolCalls.Call>, string> =>
  Result.flatMap(tokensOf(code), (tokens) => {
    const calls: Array<ToolCalls.Call> = []
    for (const [at, { kind, text: name }] of tokens.entries()) {
      if (kind !== "name" || !tools.has(name) || tokens[at + 1]?.text !== "(") continue
      const bracket = partsOf(tokens, at + 1)
      if (bracket === undefined) return Result.fail(`the call of ${name} does not end`)
      const named = bracket.parts.filter(([key, equals]) => key?.kind === "name" && equals?.text === "=")
      calls.push({
        name,
        arguments: Object.fromEntries(named.map(([key, , ...value]) => [key!.text, valueOf(code, value)] as const))
      })
    }
    return Result.succeed(calls)
  })
