/**
 * A chat template in Jinja, as `transformers` renders it: @huggingface/jinja, and what that leaves out.
 *
 * `list | map('tojson')`, or another filter by its name with its arguments, goes over the items of a list (the library
 * knows `map(attribute=…)` alone). `text.strip('\n')` takes those characters off, as do `lstrip` and `rstrip`.
 * `| string` writes lists and mappings as Python does. Months have their English names wherever this runs.
 */
import { Environment, Interpreter, Template } from "@huggingface/jinja"
import { Predicate } from "effect"
import * as PythonText from "./PythonText.ts"

type Value = PythonText.Value

/** Names that an expression may use. */
interface Scope {
  readonly variables: Map<string, Value>
  readonly set: (name: string, value: unknown) => Value
}
interface Evaluator {
  evaluate(node: unknown, scope: Scope): Value
  run(program: unknown): Value
}

// The library's own declarations are not found by Node's rules of resolution: these are the parts used here.
const NewScope = Environment as unknown as new (parent?: Scope) => Scope
const LibraryInterpreter = Interpreter as unknown as new (scope: Scope) => Evaluator

/** A node of an expression, as the parser has it. */
interface Node {
  readonly [key: string]: unknown
}

const isNode = (node: unknown, type: string): node is Node =>
  Predicate.isObject(node) && Predicate.hasProperty(node, "type") && node.type === type

const isNamed = (node: unknown, name: string): boolean => isNode(node, "Identifier") && node["value"] === name

/** The filter that `map` names, with the arguments behind its name; none where it is not `map` with a name. */
const mappedFilter = (filter: unknown): Node | undefined => {
  if (!isNode(filter, "CallExpression") || !isNamed(filter["callee"], "map")) return undefined
  const [named, ...args] = Array.isArray(filter["args"]) ? filter["args"] : []
  if (!isNode(named, "StringLiteral")) return undefined
  const callee = { type: "Identifier", value: named["value"] }
  return args.length === 0 ? callee : { type: "CallExpression", callee, args }
}

/** What is stripped, and from which ends; none where it is not `strip` of certain characters. */
const stripOf = ({ args, callee }: Node) => {
  if (!isNode(callee, "MemberExpression") || callee["computed"] === true || !Array.isArray(args)) return undefined
  const [characters, ...rest] = args
  const ends = ["strip", "lstrip", "rstrip"].find((name) => isNamed(callee["property"], name))
  const isPlain = characters !== undefined && rest.length === 0 && !isNode(characters, "KeywordArgumentExpression")
  return ends === undefined || !isPlain ? undefined : { object: callee["object"], characters, ends }
}

const stripped = (text: string, characters: string, ends: string): string => {
  const all = Array.from(text)
  const isKept = (character: string) => !characters.includes(character)
  const from = ends === "rstrip" ? 0 : all.findIndex(isKept)
  const to = ends === "lstrip" ? all.length : all.findLastIndex(isKept) + 1
  return from === -1 ? "" : all.slice(from, to).join("")
}

/** No name that a template can use. */
const slot = " "

class FullInterpreter extends LibraryInterpreter {
  override evaluate(node: unknown, scope: Scope): Value {
    if (isNode(node, "FilterExpression")) return this.filtered(node, scope)
    const strip = isNode(node, "CallExpression") ? stripOf(node) : undefined
    if (strip === undefined) return super.evaluate(node, scope)
    const { value: text } = this.evaluate(strip.object, scope)
    const { value: characters } = this.evaluate(strip.characters, scope)
    if (typeof text !== "string" || typeof characters !== "string") return super.evaluate(node, scope)
    return new NewScope().set(slot, stripped(text, characters, strip.ends))
  }

  filtered({ filter, operand }: Node, scope: Scope): Value {
    const value = this.evaluate(operand, scope)
    const each = mappedFilter(filter)
    if (each !== undefined && Array.isArray(value.value)) {
      const results = value.value.map((item: Value) => this.apply(each, item, scope))
      const made = new NewScope().set(slot, [])
      if (Array.isArray(made.value)) made.value.push(...results)
      return made
    }
    return isNamed(filter, "string") && PythonText.isMade(value)
      ? new NewScope().set(slot, PythonText.of(value))
      : this.apply(filter, value, scope)
  }

  /** The library's filter of a value that is computed already. */
  apply(filter: unknown, value: Value, scope: Scope): Value {
    const inner = new NewScope(scope)
    inner.variables.set(slot, value)
    return super.evaluate({ type: "FilterExpression", operand: { type: "Identifier", value: slot }, filter }, inner)
  }
}

const range = (start: number, stop?: number, step = 1): ReadonlyArray<number> => {
  const [from, to] = stop === undefined ? [0, start] : [start, stop]
  if (step === 0) throw new RangeError("range() of steps of 0 has no end")
  return Array.from({ length: Math.max(0, Math.ceil((to - from) / step)) }, (_, at) => from + at * step)
}

const months = new Intl.DateTimeFormat("en", { month: "long" })
const days = new Intl.DateTimeFormat("en", { weekday: "long" })

const two = (value: number): string => String(value).padStart(2, "0")

/** Python's `strftime` of the present, local time, as far as templates go. */
const strftimeNow = (format: string): string => {
  const now = new Date()
  const parts: { readonly [code: string]: () => string } = {
    Y: () => String(now.getFullYear()),
    m: () => two(now.getMonth() + 1),
    d: () => two(now.getDate()),
    H: () => two(now.getHours()),
    M: () => two(now.getMinutes()),
    S: () => two(now.getSeconds()),
    B: () => months.format(now),
    b: () => months.format(now).slice(0, 3),
    A: () => days.format(now),
    a: () => days.format(now).slice(0, 3),
    "%": () => "%"
  }
  return format.replace(/%([A-Za-z%])/g, (whole, code: string) => parts[code]?.() ?? whole)
}

/** What every template may use, beside what it is given. */
const globals: { readonly [name: string]: unknown } = {
  true: true,
  True: true,
  false: false,
  False: false,
  none: null,
  None: null,
  range,
  strftime_now: strftimeNow,
  raise_exception: (message: string) => {
    throw new Error(message)
  }
}

export type Render = (given: { readonly [name: string]: unknown }) => string

/** Throws where the source is no template; the render throws what the template refuses. */
export const make = (source: string): Render => {
  const { parsed } = new Template(source)
  return (given) => {
    const scope = new NewScope()
    for (const [name, value] of Object.entries({ ...globals, ...given })) scope.set(name, value)
    return String(new FullInterpreter(scope).run(parsed).value)
  }
}
