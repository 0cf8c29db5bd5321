/**
 * Parses the outer structure of a normalised answer: lists, sets, tuples, intervals, relations, ratios, matrices, ±,
 * units, numbers in a base. The remaining leaves are read by the given `Reader`.
 *
 * compute-engine is not used for any of this: it reads `\pm` as a measurement, `^\circ` as radians, `204_5` as a
 * number, and "1 and 2" not at all. Sample: `x \in [0, 1) \cup \{3\}` is a Membership of a SetOperation of an Interval
 * and a Set.
 */
import type { Answer, RelationOperator } from "./Answer.ts"
import type { Reader } from "./Latex.ts"
import { leaf } from "./Leaves.ts"
import * as MatrixAlgebra from "./MatrixAlgebra.ts"
import { isName } from "./Naming.ts"
import { canonicalText } from "./Normalise.ts"
import * as Scan from "../text/Scan.ts"
import * as Times from "./Times.ts"
import * as Wording from "../text/Wording.ts"

const maxItems = 200
const maxTerms = 10

const separators =
  /(?:,\s*|(?<!\s)\s*)(?:\\text\{[\s,.;]*(?:and|or)[\s,.;]*\}\s*,?|(?<![a-zA-Z\\])(?:and|or)(?:(?![a-zA-Z])|(?=[a-zA-Z](?:_\w|\([a-z]\))?\s*=))\s*,?)|\\(?:land|lor|vee|wedge)(?![a-zA-Z])|,/gi
const semicolons = /;/g
const relations = /\\(?:leq|geq|neq|approx)(?![a-zA-Z])|[=<>]/g
const implications = /\\(?:Rightarrow|implies|Longrightarrow|iff|Leftrightarrow|therefore|to|rightarrow)(?![a-zA-Z])/g
const setOperations = /\\(?:cup|cap|setminus|backslash)(?![a-zA-Z])|(?<=[)\]}])\s*U\s*(?=[([\\])/g
const membership = /\\in(?![a-zA-Z])/g
const emptySet =
  /^(?:\\emptyset|\\\{\s*\\\}|\\text\{\s*(?:no (?:real )?solutions?|none|empty set)\s*\}|no (?:real )?solutions?)$/i
const matrix = /^\\begin\{([pbvBV]?matrix|smallmatrix|array)\}(?:\{[^{}]*\})?(.*)\\end\{\1\}$/s

const parseAll = (parts: ReadonlyArray<string>, read: Reader): ReadonlyArray<Answer> =>
  parts.map((part) => parse(part, read))

const parseRelation = (text: string, { parts, separators }: Scan.Split, read: Reader): Answer => {
  const operators = separators.map((separator) => separator.trim() as RelationOperator)
  if (parts[0]?.trim() !== "") {
    if (!Wording.isNeutral(parts[0] ?? "")) return { _tag: "Words", text: canonicalText(text) }
    const sides = parseAll(parts, read)
    return { _tag: "Relation", text: canonicalText(text), sides, operators, areNames: parts.map(isName), isSet: false }
  }
  // "= 5" answers "what is it equal to"; "> 5" alone answers nothing.
  const [only, ...more] = parts.slice(1)
  return operators[0] === "=" && only !== undefined && more.length === 0
    ? parse(only, read)
    : { _tag: "Words", text: canonicalText(text) }
}

const parseSetOperation = (text: string, split: Scan.Split, read: Reader): Answer => {
  const [first = "", ...rest] = split.parts
  let left = parse(first, read)
  for (const [i, part] of rest.entries()) {
    const separator = split.separators[i] ?? ""
    const operator = /cup|U/.test(separator) ? "union" : separator.includes("cap") ? "intersection" : "difference"
    left = { _tag: "SetOperation", text: canonicalText(text), operator, left, right: parse(part, read) }
  }
  return left
}

const parseMatrix = (text: string, body: string, read: Reader): Answer => {
  const rows = Scan.splitTop(body, /\\\\/g).parts.filter((row) => row.trim() !== "" && !/^\s*\\hline\s*$/.test(row))
  return {
    _tag: "Matrix",
    text: canonicalText(text),
    kind: text.startsWith("\\begin{v") ? "determinant" : text.startsWith("\\begin{V") ? "norm" : "matrix",
    rows: rows.map((row) => parseAll(Scan.splitTop(row, /(?<!\\)&/g).parts, read))
  }
}

const system = /^\\begin\{(cases|aligned|align\*?|gathered|split)\}(.*)\\end\{\1\}$/s
const condition = /^\s*(?:\\text\{\s*(?:if|for|when|where)\s*\}|(?:if|for|when|where)(?![a-zA-Z]))?\s*/

/** Equations below each other as their list, and cases with conditions as rows; undefined for anything else. */
const parseSystem = (text: string, read: Reader): Answer | undefined => {
  const [, name, body = ""] = system.exec(text) ?? []
  if (name === undefined || body.includes("\\begin{")) return undefined
  const rows = Scan.splitTop(body, /\\\\/g)
    .parts.map((row) => row.trim().replace(/[,.;]$/, ""))
    .filter((row) => row !== "")
  if (name !== "cases" || !body.includes("&")) {
    // A row that begins with a sign of equality continues the one above.
    const lines = rows.map((row) => row.replaceAll("&", " ").trim()).join(", ")
    return lines === "" ? undefined : parse(lines.replaceAll(/,\s(?=[=<>])/g, " "), read)
  }
  const cells = rows.map((row) => Scan.splitTop(row, /(?<!\\)&/g).parts)
  if (cells.some(({ length }) => length !== 2)) return undefined
  const parsed = cells.map(([value = "", when = ""]) =>
    parseAll([value.trim().replace(/,$/, ""), when.replace(condition, "")], read)
  )
  return { _tag: "Matrix", text: canonicalText(text), kind: "cases", rows: parsed }
}

/** The rows of a matrix as nested lists, `[[1,2],[3,4]]`, or as in MATLAB, `[1,2;3,4]`. */
const nestedRows = (inner: string): ReadonlyArray<ReadonlyArray<string>> | undefined => {
  const lines = Scan.splitTop(inner, /;/g).parts
  const rows = (lines.length > 1 ? lines : Scan.splitTop(inner, /,/g).parts).map((part) => {
    const row = lines.length > 1 ? { open: "[", close: "]", inner: part } : Scan.enclosed(part.trim())
    return row?.open === "[" && row.close === "]" ? Scan.splitTop(row.inner, /,/g).parts : []
  })
  const width = rows[0]?.length ?? 0
  const isTable = rows.every((row) => row.length === width && row.every((part) => part.trim() !== ""))
  return isTable && width > (lines.length > 1 ? 1 : 0) ? rows : undefined
}

/** `\{x \mid x > 3\}` is parsed as its condition on x; other set builders are compared as text. */
const parseBuilder = (
  text: string,
  [element = "", condition = "", ...more]: ReadonlyArray<string>,
  read: Reader
): Answer => {
  const isPlain = /^\s*[a-zA-Z](?:\s*\\in\s*\\(?:mathbb\s*(?:\{\s*)?R(?:\s*\})?|R))?\s*$/.test(element)
  const parsed = isPlain && more.length === 0 ? parse(condition, read) : undefined
  if (parsed?._tag === "Relation") return { ...parsed, text: canonicalText(text), isSet: true }
  return parsed?._tag === "Membership"
    ? { ...parsed, text: canonicalText(text) }
    : { _tag: "Words", text: canonicalText(text) }
}

/**
 * The inside of `(…)`, `[…]`, `\{…\}` or `{…}` that spans the whole text; undefined if the bracket is only arithmetic.
 */
const parseEnclosed = (text: string, read: Reader): Answer | undefined => {
  const bracket = Scan.enclosed(text)
  if (bracket === undefined) return undefined
  const { open, close, inner } = bracket
  const items = Scan.splitTop(inner, /[,;]/g).parts.filter((part) => part.trim() !== "")
  if (items.length > maxItems) return undefined
  if (open === "\\{" && close === "\\}") {
    const built = Scan.splitTop(inner, /\||\\mid(?![a-zA-Z])|:/g).parts
    if (built.length > 1) return parseBuilder(text, built, read)
    return { _tag: "Set", text: canonicalText(text), items: parseAll(items, read) }
  }
  if (open === "{" && close === "}") return parse(inner, read)
  if (/^\s*\\begin\{array\}/.test(inner)) return parse(inner, read)
  const rows = open === "[" && close === "]" ? nestedRows(inner) : undefined
  if (rows !== undefined) {
    return { _tag: "Matrix", text: canonicalText(text), kind: "matrix", rows: rows.map((row) => parseAll(row, read)) }
  }
  if (items.length === 2 && (open === "[" || close === "]")) {
    const [low, high] = parseAll(items, read)
    return low === undefined || high === undefined
      ? undefined
      : {
          _tag: "Interval",
          text: canonicalText(text),
          low,
          high,
          isLowClosed: open === "[",
          isHighClosed: close === "]"
        }
  }
  if ((open === "(" && close === ")") || (open === "[" && close === "]")) {
    if (items.length > 1) return { _tag: "Tuple", text: canonicalText(text), items: parseAll(items, read) }
    const content = parse(inner, read)
    return content._tag === "Leaf" ? undefined : content
  }
  return undefined
}

/** A set that an unknown can be in: `(1, 2)` is an open interval here, not a point. */
const parseSet = (text: string, read: Reader): Answer => {
  const set = parse(text, read)
  const [low, high, ...more] = set._tag === "Tuple" ? set.items : []
  return low === undefined || high === undefined || more.length > 0
    ? set
    : { _tag: "Interval", text: set.text, low, high, isLowClosed: false, isHighClosed: false }
}

/** `(x, y)` is in a set of points. */
const isPoint = (element: string): boolean => element.trim().startsWith("(")

/** `a \pm b` is the two answers `a + b` and `a - b`; several signs are coupled. */
const parsePlusMinus = (text: string, read: Reader): Answer => {
  const upper = text.replaceAll(/\\pm(?![a-zA-Z])/g, "+").replaceAll(/\\mp(?![a-zA-Z])/g, "-")
  const lower = text.replaceAll(/\\pm(?![a-zA-Z])/g, "-").replaceAll(/\\mp(?![a-zA-Z])/g, "+")
  const items = [upper, lower].map((sign) => parse(sign.replace(/^\s*\+/, ""), read))
  return { _tag: "List", text: canonicalText(text), items, connective: "or" }
}

/** True if a step may lead to the last one: it denies nothing, and gives the same name no other value. */
const leadsTo = (step: Answer, last: Answer): boolean => {
  if (step._tag !== "Relation" || step.operators.includes("\\neq")) return false
  const isSameName =
    last._tag === "Relation" && step.areNames[0] === true && step.sides[0]?.text === last.sides[0]?.text
  return !isSameName || step.text === last.text || step.operators.some((operator) => operator !== "=")
}

/** `2x = 10 \Rightarrow x = 5` means its conclusion, if relations lead to it. */
const parseImplied = (text: string, parts: ReadonlyArray<string>, read: Reader): Answer => {
  const steps = parts.map((part) => part.trim()).filter((part) => part !== "")
  const [last, ...earlier] = parseAll(steps, read).toReversed()
  const isLed =
    (last?._tag === "Relation" || last?._tag === "Membership") &&
    earlier.length > 0 &&
    earlier.every((step) => leadsTo(step, last))
  return isLed ? last : { _tag: "Words", text: canonicalText(text) }
}

const connectiveOf = (found: ReadonlyArray<string>): "comma" | "and" | "or" =>
  found.some((separator) => /or|vee/i.test(separator))
    ? "or"
    : found.some((separator) => /and|wedge/i.test(separator))
      ? "and"
      : "comma"

/** The structure of a normalised answer. Linear in the text times the depth of brackets, which `Normalise` caps. */
export const parse = (raw: string, read: Reader): Answer => {
  const text = raw.trim().replace(/(?<![.,;])[.,;]+$/, "")
  if (emptySet.test(text)) return { _tag: "Set", text: canonicalText(text), items: [] }
  if (Wording.denies(text)) return { _tag: "Words", text: canonicalText(text) }
  const wrapped = /^\\text\{([^{}]*)\}$/.exec(text)
  if (wrapped !== null) {
    const inner = wrapped[1] ?? ""
    const isCounted =
      /^\s*[-+$]?\d[\d.,]*\s+(?=[a-zA-Z])(?=[a-zA-Z\s]*[a-zA-Z]{4})[a-zA-Z]{2,}(?:\s[a-zA-Z]{2,}){0,3}\s*$/.test(inner)
    const isNumeric = isCounted || (/\d/.test(inner) && !/[a-zA-Z]{3,}(?<!and)/.test(inner))
    return isNumeric ? parse(inner, read) : { _tag: "Words", text: canonicalText(text) }
  }
  for (const pattern of [semicolons, separators]) {
    const split = Scan.splitTop(text, pattern)
    const items = split.parts.map((part) => part.trim()).filter((part) => part !== "")
    if (items.length > maxItems) return { _tag: "Words", text: canonicalText(text) }
    if (items.length > 1) {
      return {
        _tag: "List",
        text: canonicalText(text),
        items: parseAll(items, read),
        connective: connectiveOf(split.separators)
      }
    }
  }
  const implied = Scan.splitTop(text, implications).parts
  if (implied.length > 1) return parseImplied(text, implied, read)
  const related = Scan.splitTop(text, relations)
  if (related.separators.length > 0) return parseRelation(text, related, read)
  const [element = "", set, ...more] = Scan.splitTop(text, membership).parts
  if (set !== undefined && more.length === 0) {
    return {
      _tag: "Membership",
      text: canonicalText(text),
      element: canonicalText(element.trim()),
      set: isPoint(element) ? parse(set, read) : parseSet(set, read)
    }
  }
  const operated = Scan.splitTop(text, setOperations)
  if (operated.separators.length > 0) return parseSetOperation(text, operated, read)
  if (/\\(?:pm|mp)(?![a-zA-Z])/.test(text)) return parsePlusMinus(text, read)
  const chain = MatrixAlgebra.split(text)
  const rows = chain.parts.length > 1 ? MatrixAlgebra.result(parseAll(chain.parts, read), chain.separators) : undefined
  if (rows !== undefined) return { _tag: "Matrix", text: canonicalText(text), kind: "matrix", rows }
  const factors = MatrixAlgebra.factors(text)
  const scaled = factors && MatrixAlgebra.scaled(parse(factors[0], read), parse(factors[1], read))
  if (scaled !== undefined) return { _tag: "Matrix", text: canonicalText(text), kind: "matrix", rows: scaled }
  const body = matrix.exec(text)
  if (body !== null && !(body[2] ?? "").includes("\\begin{")) return parseMatrix(text, body[2] ?? "", read)
  const equations = parseSystem(text, read)
  if (equations !== undefined) return equations
  const enclosed = parseEnclosed(text, read)
  if (enclosed !== undefined) return enclosed
  const time = Times.read(text)
  const ratio = Scan.splitTop(text, /:/g).parts
  if (
    time !== undefined ||
    (ratio.length > 1 && ratio.length <= maxTerms && ratio.every((part) => part.trim() !== ""))
  ) {
    return {
      _tag: "Ratio",
      text: canonicalText(text),
      items: ratio.length > 1 ? parseAll(ratio, read) : [],
      ...(time !== undefined && { time })
    }
  }
  return leaf(text, read)
}
