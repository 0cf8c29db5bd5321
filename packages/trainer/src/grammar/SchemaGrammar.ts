/**
 * JSON schemas as grammars: every text that the grammar takes is JSON that the schema takes.
 *
 * Objects have the properties of the schema in its order and no others, unless `additionalProperties` allows them. What
 * a grammar cannot hold an answer to is a problem with its place in the schema.
 */
import { ExactJson } from "@atropos/core"
import { Predicate, Result } from "effect"
import * as Ebnf from "./Ebnf.ts"
import * as Keywords from "./Keywords.ts"
import * as NumberRules from "./NumberRules.ts"
import * as ObjectRules from "./ObjectRules.ts"
import * as PatternRules from "./PatternRules.ts"
import * as StringRules from "./StringRules.ts"

type Schema = Readonly<Record<string, unknown>>

class Problem extends Error {}

const fail = (where: string, what: string): never => {
  throw new Problem(`${where === "" ? "the schema" : where}: ${what}`)
}

const isSchema = (value: unknown): value is Schema => Predicate.isReadonlyObject(value) && !Array.isArray(value)

/** Keywords by the type whose values they are about. */
const ofType: { readonly [type: string]: ReadonlyArray<string> } = {
  object: ["properties", "required", "additionalProperties", "minProperties", "maxProperties"],
  array: ["items", "prefixItems", "additionalItems", "minItems", "maxItems"],
  string: ["minLength", "maxLength", "pattern", "format"],
  number: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]
}
const types = ["object", "array", "string", "number", "boolean", "null"]

const holds = (schema: Schema, words: ReadonlyArray<string>): ReadonlyArray<string> =>
  words.filter((word) => schema[word] !== undefined)

const typeOf = (value: unknown): string => {
  if (value === null) return "null"
  if (Array.isArray(value)) return "array"
  if (value instanceof ExactJson.Numeral || typeof value === "bigint") return "number"
  return typeof value
}

const isInteger = (value: unknown): boolean => /^-?\d+(?:\.0+)?$/.test(String(value))

/** A schema that says two things at once, of which a grammar can hold one. */
const apart = (where: string, one: string, others: ReadonlyArray<string>): void => {
  if (others.length > 0) fail(where, `answers cannot be held to ${one} and ${others.join(", ")} at once; leave one out`)
}

class Writer {
  readonly rules = new Ebnf.Rules()
  private readonly root: unknown
  private readonly referred = new Map<string, string>()
  /** References on the way to the place at hand that nothing was written for. */
  private readonly open: Array<string> = []

  constructor(root: unknown) {
    this.root = root
  }

  any(): Ebnf.Expression {
    return this.rules.named("any", () => {
      const shape = { properties: [], others: "any", min: 0, max: undefined }
      return Ebnf.choice([
        ObjectRules.within(this.rules, "{", ObjectRules.members(this.rules, shape)!, "}"),
        this.list("any", 0, undefined),
        StringRules.ofLength(this.rules, 0, undefined),
        NumberRules.between(undefined, undefined),
        '"true" | "false" | "null"'
      ])!
    })
  }

  private list(item: Ebnf.Expression, from: number, to: number | undefined): Ebnf.Expression {
    const more = `(${ObjectRules.comma(this.rules)} ${item})`
    const some = Ebnf.sequence(item, Ebnf.repeat(more, Math.max(0, from - 1), to === undefined ? undefined : to - 1))
    return ObjectRules.within(this.rules, "[", to === 0 ? Ebnf.empty : from > 0 ? some : Ebnf.optional(`(${some})`), "]")
  }

  /** The expression of a schema; undefined if no value fits. */
  schema(schema: unknown, where: string): Ebnf.Expression | undefined {
    if (schema === true) return this.any()
    if (schema === false) return undefined
    if (!isSchema(schema)) return fail(where, "expected a schema")
    if (typeof schema["$ref"] === "string") return this.reference(schema, where)
    if (Array.isArray(schema["anyOf"])) return this.anyOf(schema, schema["anyOf"], where)
    if (schema["enum"] !== undefined || "const" in schema) return this.constants(schema, where)
    const wanted = [schema["type"] ?? this.implied(schema)].flat().map(String)
    const all = wanted.map((type) => this.typed(schema, type, where))
    return Ebnf.choice(all)
  }

  /** The types that the keywords are about; without any, all. */
  private implied(schema: Schema): ReadonlyArray<string> {
    const named = Object.entries(ofType).flatMap(([type, words]) => (holds(schema, words).length > 0 ? [type] : []))
    return named.length > 0 ? named : types
  }

  private reference(schema: Schema, where: string): Ebnf.Expression | undefined {
    const place = String(schema["$ref"])
    apart(where, "$ref", [...holds(schema, ["anyOf", "type", "enum", "const"]), ...holds(schema, Object.values(ofType).flat())])
    const known = this.referred.get(place)
    if (known !== undefined) {
      if (this.open.includes(place)) return fail(where, `${place} refers to itself and to nothing else`)
      return known
    }
    const target = this.target(place)
    if (target === undefined) return fail(where, `there is no ${place} in the schema`)
    const name = this.rules.reserve("reference")
    this.referred.set(place, name)
    this.open.push(place)
    const body = this.schema(target, place)
    this.open.splice(this.open.indexOf(place), 1)
    if (body === undefined) return fail(where, `${place} takes no value`)
    return this.rules.set(name, body)
  }

  private target(place: string): unknown {
    let at: unknown = this.root
    for (const part of place.split("/").slice(1)) {
      const decoded = Result.getOrElse(
        Result.try(() => decodeURIComponent(part)),
        () => part
      )
      const key = decoded.replaceAll("~1", "/").replaceAll("~0", "~")
      if (!Predicate.isReadonlyObject(at) || !Object.hasOwn(at, key)) return undefined
      at = (at as Schema)[key]
    }
    return at
  }

  private anyOf(schema: Schema, all: ReadonlyArray<unknown>, where: string): Ebnf.Expression | undefined {
    const { $defs: _, anyOf: __, definitions: ___, ...beside } = schema
    const kept = holds(beside, ["$ref", "type", "enum", "const", ...Object.values(ofType).flat()])
    const base = Object.fromEntries(kept.map((word) => [word, beside[word]]))
    return Ebnf.choice(
      all.map((one, index) => {
        const place = `${where === "" ? "" : `${where}.`}anyOf.${index}`
        if (kept.length === 0) return this.schema(one, place)
        if (one === false) return undefined
        const branch: Schema = one === true ? {} : (one as Schema)
        if (kept.join() === "type" && branch["type"] !== undefined) {
          const wanted = [beside["type"]].flat()
          const type = [branch["type"]].flat().filter((each) => wanted.includes(each))
          return type.length === 0 ? undefined : this.schema({ ...branch, type }, place)
        }
        // Keywords of which none is about another are the same in one schema as in two.
        const both = holds(branch, ["$ref", "anyOf", "enum", "const", ...kept])
        const areObjects = holds(branch, ofType["object"]!).length > 0 && kept.some((word) => ofType["object"]!.includes(word))
        const areLists = holds(branch, ofType["array"]!).length > 0 && kept.some((word) => ofType["array"]!.includes(word))
        const isRequiredAlone = holds(branch, ofType["object"]!).join() === "required" && !kept.includes("required")
        if (both.length > 0 || (areObjects && !isRequiredAlone) || areLists) {
          return fail(place, `answers cannot be held to it and to ${kept.join(", ")} beside anyOf; write them into each schema of anyOf`)
        }
        return this.schema({ ...base, ...branch }, place)
      })
    )
  }

  private constants(schema: Schema, where: string): Ebnf.Expression | undefined {
    const beside = holds(schema, Object.values(ofType).flat())
    apart(where, "const" in schema ? "const" : "enum", beside)
    const listed = schema["enum"]
    let all: ReadonlyArray<unknown> = "const" in schema ? [schema["const"]] : Array.isArray(listed) ? listed : []
    if ("const" in schema && listed !== undefined) apart(where, "const", ["enum"])
    if (schema["type"] !== undefined) {
      const wanted = [schema["type"]].flat().map(String)
      all = all.filter((value) => wanted.includes(typeOf(value)) || (wanted.includes("integer") && isInteger(value)))
    }
    return Ebnf.choice(all.map((value) => this.constant(value)))
  }

  private constant(value: unknown): Ebnf.Expression {
    const { rules } = this
    if (Array.isArray(value)) {
      const items = value.map((one) => this.constant(one)).join(` ${ObjectRules.comma(rules)} `)
      return ObjectRules.within(rules, "[", value.length === 0 ? Ebnf.empty : items, "]")
    }
    if (isSchema(value) && !(value instanceof ExactJson.Numeral)) {
      const all = Object.entries(value).map(([name, one]) => ObjectRules.named(rules, name, this.constant(one)))
      return ObjectRules.within(rules, "{", all.length === 0 ? Ebnf.empty : all.join(` ${ObjectRules.comma(rules)} `), "}")
    }
    return Ebnf.literal(ExactJson.write(value) ?? "null")
  }

  private typed(schema: Schema, type: string, where: string): Ebnf.Expression | undefined {
    switch (type) {
      case "object":
        return this.object(schema, where)
      case "array":
        return this.array(schema, where)
      case "string":
        return this.string(schema, where)
      case "boolean":
        return '("true" | "false")'
      case "null":
        return '"null"'
      default:
        return this.number(schema, type, where)
    }
  }

  private within(where: string, word: string): string {
    return where === "" ? word : `${where}.${word}`
  }

  /** What is inside has been written for: a reference to a place further up has an end. */
  private inside<A>(make: () => A): A {
    const open = this.open.splice(0)
    const made = make()
    this.open.push(...open)
    return made
  }

  private object(schema: Schema, where: string): Ebnf.Expression | undefined {
    const { additionalProperties, maxProperties: max, minProperties: min = 0 } = schema
    const properties = isSchema(schema["properties"]) ? schema["properties"] : {}
    const required = new Set(Array.isArray(schema["required"]) ? schema["required"].map(String) : [])
    return this.inside(() => {
      const allowed = additionalProperties ?? (schema["properties"] === undefined ? true : false)
      const others = this.schema(allowed, this.within(where, "additionalProperties"))
      const missing = [...required].filter((name) => !Object.hasOwn(properties, name))
      const inner = ObjectRules.members(this.rules, {
        properties: [
          ...Object.entries(properties).map(([name, one]) => ({
            name,
            isRequired: required.has(name),
            value: this.schema(one, this.within(where, `properties.${name}`))
          })),
          ...missing.map((name) => ({ name, isRequired: true, value: others }))
        ],
        others,
        min: Number(min),
        max: max === undefined ? undefined : Number(max)
      })
      return inner && ObjectRules.within(this.rules, "{", inner, "}")
    })
  }

  private array(schema: Schema, where: string): Ebnf.Expression | undefined {
    const prefix = Array.isArray(schema["prefixItems"]) ? schema["prefixItems"] : []
    const from = Number(schema["minItems"] ?? 0)
    const given = schema["maxItems"] === undefined ? undefined : Number(schema["maxItems"])
    return this.inside(() => {
      const first = prefix.map((one, index) => this.schema(one, this.within(where, `prefixItems.${index}`)))
      const others = this.schema(
        schema["items"] ?? schema["additionalItems"] ?? prefix.length === 0,
        this.within(where, "items")
      )
      const end = first.findIndex((one) => one === undefined)
      const shortest = end !== -1 ? end : others === undefined ? first.length : undefined
      const to = given === undefined ? shortest : Math.min(given, shortest ?? given)
      if (to !== undefined && from > to) return undefined
      if (first.length === 0) return others === undefined ? ObjectRules.within(this.rules, "[", Ebnf.empty, "]") : this.list(others, from, to)
      const comma = ObjectRules.comma(this.rules)
      let rest: Ebnf.Expression = Ebnf.empty
      if (others !== undefined && (to === undefined || to > first.length)) {
        rest = Ebnf.repeat(`(${comma} ${others})`, Math.max(0, from - first.length), to === undefined ? undefined : to - first.length)
      }
      for (let at = Math.min(first.length, to ?? first.length) - 1; at >= 0; at--) {
        const here = Ebnf.sequence(at === 0 ? Ebnf.empty : comma, first[at]!, rest)
        rest = at < from ? here : Ebnf.optional(`(${here})`)
      }
      return ObjectRules.within(this.rules, "[", rest, "]")
    })
  }

  private string(schema: Schema, where: string): Ebnf.Expression | undefined {
    const { format, maxLength, minLength, pattern } = schema
    const lengths = holds(schema, ["minLength", "maxLength"])
    if (typeof format === "string") {
      apart(where, "format", [...holds(schema, ["pattern"]), ...lengths])
      return Ebnf.sequence(StringRules.quote, StringRules.formats[format]!, StringRules.quote)
    }
    if (typeof pattern === "string") {
      apart(where, "pattern", lengths)
      const made = PatternRules.make(pattern, this.rules)
      if (Result.isFailure(made)) {
        return fail(this.within(where, "pattern"), `answers cannot be held to ${pattern.slice(0, 60)} here: it has ${made.failure}`)
      }
      return Ebnf.sequence(StringRules.quote, made.success, StringRules.quote)
    }
    const [from, to] = [Number(minLength ?? 0), maxLength === undefined ? undefined : Number(maxLength)]
    return to !== undefined && from > to ? undefined : StringRules.ofLength(this.rules, from, to)
  }

  private number(schema: Schema, type: string, where: string): Ebnf.Expression | undefined {
    const bound = (word: string): NumberRules.Bound | undefined => {
      const value = schema[word]
      if (value === undefined) return undefined
      const text = String(value)
      if (!NumberRules.isBound(text)) return fail(this.within(where, word), `${text} is no bound`)
      return { value: NumberRules.decimal(text), isExclusive: word.startsWith("exclusive") }
    }
    for (const [one, other] of [
      ["minimum", "exclusiveMinimum"],
      ["maximum", "exclusiveMaximum"]
    ] as const)
      if (schema[one] !== undefined) apart(where, one, holds(schema, [other]))
    const low = bound("minimum") ?? bound("exclusiveMinimum")
    const high = bound("maximum") ?? bound("exclusiveMaximum")
    return type === "integer" ? NumberRules.integers(low, high) : NumberRules.between(low, high)
  }
}

/** More weight than this takes minutes to compile. */
const heaviest = 1_000_000

/** Length of a grammar, and the repetitions in it, which are written out when it is compiled. */
const weightOf = (text: string): number =>
  Array.from(text.matchAll(/\{(?:\d+,)?(\d+),?\}/g)).reduce((sum, [, times]) => sum + Number(times), text.length)

export interface Grammar {
  readonly text: string
  readonly weight: number
}

/** What a schema has much of, in words. */
export const extent = (schema: unknown): string => {
  const counts = { properties: 0, values: 0, schemas: 0, longest: 0 }
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(visit)
    if (!isSchema(value)) return
    counts.schemas++
    if (isSchema(value["properties"])) counts.properties += Object.keys(value["properties"]).length
    if (Array.isArray(value["enum"])) counts.values += value["enum"].length
    for (const word of ["minLength", "maxLength", "minItems", "maxItems"])
      counts.longest = Math.max(counts.longest, Number(value[word] ?? 0))
    Object.values(value).forEach(visit)
  }
  visit(schema)
  return `${counts.properties} properties, ${counts.values} values of enums, ${counts.schemas} objects in all, and lengths up to ${counts.longest}`
}

/** What is wrong with a schema, and where; undefined if it can be made a grammar. */
export const problem = (schema: unknown): string | undefined => Result.getOrUndefined(Result.flip(make(schema)))

/** The grammar of a schema, or what is wrong with the schema and where. */
export const make = (schema: unknown): Result.Result<Grammar, string> => {
  const problem = Keywords.problem(schema)
  if (problem !== undefined) return Result.fail(problem)
  const writer = new Writer(schema)
  const made = Result.try({
    try: () => writer.schema(schema, "") ?? fail("", "no value fits it"),
    catch: (cause) => {
      if (cause instanceof Problem) return cause.message
      throw cause
    }
  })
  return Result.flatMap(made, (root) => {
    const text = writer.rules.text(root)
    const weight = weightOf(text)
    return weight > heaviest
      ? Result.fail(`the schema is too large to hold answers to: it has ${extent(schema)}`)
      : Result.succeed({ text, weight })
  })
}
