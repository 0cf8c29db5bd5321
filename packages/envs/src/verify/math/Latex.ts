/**
 * Reads one leaf of an answer (without sets, relations or units) with compute-engine, as an `Expression`.
 *
 * Only the engine's parser is used, for its raw tree; the engine never simplifies, evaluates or compares, because that
 * can take forever on short inputs (`9^{9^{9}}`). The parser can stall too: callers apply the caps of `Limits` and run
 * it under a deadline. Anything not in `Expression.operators` makes the leaf unreadable: it then only equals identical
 * text.
 */
import type { MathJsonExpression } from "@cortex-js/compute-engine/math-json"
import * as Exact from "./expression/Exact.ts"
import { apply, type Expression, number, type Operator, operators } from "./expression/Expression.ts"
import * as Plain from "./Plain.ts"

/**
 * Defines the allowed notation of a leaf: characters and commands whose meaning the engine's parser preserves.
 *
 * It silently drops others (`5\#6`, `5\%6` and `\cancel{6}5` are returned as numbers), and a dropped sign changes the
 * answer. Anything not listed is unreadable, and only equals identical text.
 */
const commands = new Set(
  (
    "frac sqrt binom over choose cdot times infty pi ln log lg lb exp sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh max min sum prod " +
    "lfloor rfloor lceil rceil alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi rho sigma tau " +
    "upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Sigma Phi Psi Omega ell"
  ).split(" ")
)

const characters = /^[a-zA-Z\d\s+\-*/^_{}()[\]|!.,'\\=]*$/
/**
 * A point outside of a number, several in one, a comma in braces, a sign without an operand before it, digits of which
 * a command only takes the first (`\sqrt10`).
 */
const misplaced =
  /\.(?!\d)|\d\s+\.|\.\d+\s*\.|\{\s*,|,\s*\}|(?<![a-zA-Z'})\d\]])['!]|\\sqrt\s*\d[\d.]|\\(?:frac|binom)\s*\d\s*\d[\d.]|\\(?:max|min)(?!\s*(?:[({_]|\\\{))/

const isBalanced = (text: string): boolean => {
  let depth = 0
  for (const character of text) {
    if (character === "{") depth += 1
    else if (character === "}" && --depth < 0) return false
  }
  return depth === 0
}

/** True if the parser can be trusted with a leaf. */
const isKnown = (leaf: string): boolean =>
  characters.test(leaf) &&
  !misplaced.test(leaf) &&
  isBalanced(leaf) &&
  [...leaf.matchAll(/\\([a-zA-Z]+|[^])?/g)].every(([, name = ""]) => commands.has(name))

/** Reads a leaf; undefined if it is unreadable. */
export type Reader = (latex: string) => Expression | undefined

const isOperator = (head: string): head is Operator => Object.hasOwn(operators, head)

/** Letters that are functions if parentheses follow: `f(x)`; other letters multiply: `n(n+1)`. */
const functionLetters = /^[fghFGHPQ](?:_\w+)?$/

const collect = (nodes: ReadonlyArray<MathJsonExpression>, depth: number): ReadonlyArray<Expression> | undefined => {
  const read: Array<Expression> = []
  for (const node of nodes) {
    const expression = fromMathJson(node, depth)
    if (expression === undefined) return undefined
    read.push(expression)
  }
  return read
}

/** Juxtaposed factors; a function letter takes the following parenthesis as its argument. */
const fromJuxtaposition = (nodes: ReadonlyArray<MathJsonExpression>, depth: number): Expression | undefined => {
  const factors: Array<Expression> = []
  for (let i = 0; i < nodes.length; i++) {
    const [node, next] = [nodes[i]!, nodes[i + 1]]
    if (typeof node === "string" && functionLetters.test(node) && Array.isArray(next) && next[0] === "Delimiter") {
      const args = collect(next.slice(1) as ReadonlyArray<MathJsonExpression>, depth)
      if (args === undefined) return undefined
      factors.push({ _tag: "Call", name: node, args })
      i += 1
      continue
    }
    const factor = fromMathJson(node, depth)
    if (factor === undefined) return undefined
    factors.push(factor)
  }
  const [only] = factors
  if (factors.length === 1) return only
  return factors.length > operators.Multiply[1] ? undefined : apply("Multiply", ...factors)
}

const fromSymbol = (name: string): Expression | undefined => {
  switch (name) {
    case "Pi":
      return { _tag: "Constant", name: "Pi" }
    case "e":
    case "ExponentialE":
      return { _tag: "Constant", name: "E" }
    case "i":
    case "ImaginaryUnit":
      return { _tag: "Constant", name: "I" }
    case "PositiveInfinity":
      return { _tag: "Infinity", isNegative: false }
    case "NegativeInfinity":
      return { _tag: "Infinity", isNegative: true }
    case "Half":
      return number({ numerator: 1n, denominator: 2n })
    default:
      // The engine's built-in words (Nothing, NaN, RealNumbers, ContinuationPlaceholder) are not unknowns.
      return /^(?:[A-Za-z](?:_\w+)?|[a-z]{2,12}(?:_\w+)?|[A-Z]{2,6}|[A-Za-z]_\w+)$/.test(name)
        ? { _tag: "Symbol", name }
        : undefined
  }
}

const fromNumber = (text: string): Expression | undefined => {
  const value = Exact.fromDecimal(text)
  return value === undefined ? undefined : number(value)
}

/** In a series over k, `a_k` depends on k; `a_{2k}`, which the engine parses as a name, is rejected. */
const withIndices = (node: Expression, index: string): Expression | undefined => {
  if (node._tag === "Symbol") {
    const [name, suffix = ""] = node.name.split("_", 2)
    if (suffix === index) return { _tag: "Call", name: `${name}_`, args: [{ _tag: "Symbol", name: index }] }
    return suffix.includes(index) ? undefined : node
  }
  if (node._tag !== "Apply" && node._tag !== "Call") return node._tag === "Series" ? undefined : node
  const args = node.args.map((argument) => withIndices(argument, index))
  return args.every((argument) => argument !== undefined) ? { ...node, args } : undefined
}

const fromSeries = (
  kind: "Sum" | "Product",
  args: ReadonlyArray<MathJsonExpression>,
  depth: number
): Expression | undefined => {
  const [body, range] = args
  if (args.length !== 2 || body === undefined || !Array.isArray(range)) return undefined
  const [head, index, from, to] = range as ReadonlyArray<MathJsonExpression>
  if (head !== "Tuple" || typeof index !== "string" || from === undefined || to === undefined) {
    return undefined
  }
  const parts = collect([body, from, to], depth)
  const summand = parts?.[0] === undefined ? undefined : withIndices(parts[0], index)
  return summand === undefined || parts?.[1] === undefined || parts[2] === undefined
    ? undefined
    : { _tag: "Series", kind, body: summand, index, from: parts[1], to: parts[2] }
}

const fromApplication = (
  head: string,
  args: ReadonlyArray<MathJsonExpression>,
  depth: number
): Expression | undefined => {
  switch (head) {
    case "InvisibleOperator":
      return fromJuxtaposition(args, depth)
    case "Delimiter":
      return args[0] !== undefined && (args.length === 1 || typeof args[1] === "string")
        ? fromMathJson(args[0], depth)
        : undefined
    case "Sum":
    case "Product":
      return fromSeries(head, args, depth)
    default:
  }
  if (head === "Subscript" && typeof args[0] === "string" && args[1] !== undefined && args.length === 2) {
    const index = fromMathJson(args[1], depth)
    return index === undefined ? undefined : { _tag: "Call", name: `${args[0]}_`, args: [index] }
  }
  const read = collect(args, depth)
  const first = read?.[0]
  if (read === undefined || first === undefined) return undefined
  if (head === "Rational") return read[1] === undefined ? undefined : apply("Divide", first, read[1])
  if (head === "Lb") return apply("Log", first, number(Exact.fromInteger(2)))
  if (head === "Negate" && first._tag === "Infinity") return { _tag: "Infinity", isNegative: !first.isNegative }
  if (functionLetters.test(head)) return { _tag: "Call", name: head, args: read }
  if (!isOperator(head)) return undefined
  const [minimum, maximum] = operators[head]
  return read.length < minimum || read.length > maximum ? undefined : apply(head, ...read)
}

const maxDepth = 60

const fromMathJson = (node: MathJsonExpression, depth = 0): Expression | undefined => {
  if (depth > maxDepth) return undefined
  if (typeof node === "number") return fromNumber(String(node))
  if (typeof node === "string") return /^-?\d+$/.test(node) ? fromNumber(node) : fromSymbol(node)
  if (Array.isArray(node)) {
    const [head, ...args] = node as ReadonlyArray<MathJsonExpression>
    return typeof head === "string" ? fromApplication(head, args, depth + 1) : undefined
  }
  // Missing operands are null, contrary to the declared type: `5_`.
  if (node === null || typeof node !== "object") return undefined
  if ("num" in node) return fromNumber(node.num)
  return "sym" in node && typeof node.sym === "string" ? fromSymbol(node.sym) : undefined
}

/** Max cached leaves: the gold answer of a group is read once. */
const remembered = 512

/**
 * Loads the engine's LaTeX parser and makes a reader on top of it. The parser alone takes 45 ms and 18 MB; the whole
 * engine, of which nothing else is used, 0.3 s and 67 MB.
 */
export const load = async (): Promise<Reader> => {
  const { LatexSyntax } = await import("#latex-syntax")
  // Decimals become fractions of integers, so that nothing passes through a double.
  const syntax = new LatexSyntax({ parseNumbers: "rational" })
  const cache = new Map<string, Expression | undefined>()
  return (latex) => {
    const plain = Plain.read(latex)
    if (plain !== undefined) return plain
    if (cache.has(latex)) return cache.get(latex)
    const parsed = isKnown(latex) ? syntax.parse(latex) : null
    const expression = parsed === null ? undefined : fromMathJson(parsed)
    if (cache.size >= remembered) cache.clear()
    cache.set(latex, expression)
    return expression
  }
}
