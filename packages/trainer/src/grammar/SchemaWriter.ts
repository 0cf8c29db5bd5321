/**
 * Writes the grammar of one JSON schema: references become rules; objects have their properties in the schema's order
 * and no others, unless `additionalProperties` allows them.
 */
import { Predicate, Result } from "effect"
import * as Ebnf from "./Ebnf.ts"
import * as LeafRules from "./LeafRules.ts"
import * as NumberRules from "./NumberRules.ts"
import * as ObjectRules from "./ObjectRules.ts"
import {
  apart,
  fail,
  holds,
  isInteger,
  isSchema,
  ofType,
  Problem,
  type Schema,
  typeOf,
  types,
  within
} from "./SchemaProblem.ts"
import { tooLarge } from "./SchemaSize.ts"
import * as StringRules from "./StringRules.ts"

/** Max characters of an expression that is repeated instead of becoming a rule. */
const maxInline = 80

/** Max characters of all rules; references to nested places may repeat what these contain. */
const maxText = 4_000_000

export class SchemaWriter {
  readonly rules = new Ebnf.Rules()
  private readonly root: unknown
  private readonly referred = new Map<string, string>()
  /** References on the current path without anything written since. */
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

  private list(input: Ebnf.Expression, from: number, to: number | undefined): Ebnf.Expression {
    // The item is written twice: in lists of lists, its text would double at every level.
    const item = input.length > maxInline ? this.rules.add("item", input) : input
    const more = `(${ObjectRules.comma(this.rules)} ${item})`
    const some = Ebnf.sequence(
      item,
      this.rules.counted(more, Math.max(0, from - 1), to === undefined ? undefined : to - 1)
    )
    return ObjectRules.within(
      this.rules,
      "[",
      to === 0 ? Ebnf.empty : from > 0 ? some : Ebnf.optional(`(${some})`),
      "]"
    )
  }

  /** The expression of a schema; undefined if no value is valid. */
  schema(schema: unknown, where: string): Ebnf.Expression | undefined {
    if (this.rules.length > maxText) throw new Problem(tooLarge(this.root))
    if (schema === true) return this.any()
    if (schema === false) return undefined
    if (!isSchema(schema)) return fail(where, "expected a schema")
    if (typeof schema["$ref"] === "string") return this.reference(schema, where)
    if (Array.isArray(schema["anyOf"])) return this.anyOf(schema, schema["anyOf"], where)
    if (schema["enum"] !== undefined || "const" in schema) return this.constants(schema, where)
    const types = [schema["type"] ?? this.implied(schema)].flat().map(String)
    const all = types.map((type) => this.typed(schema, type, where))
    return Ebnf.choice(all)
  }

  /** The types that the keywords apply to; all if none. */
  private implied(schema: Schema): ReadonlyArray<string> {
    const named = Object.entries(ofType).flatMap(([type, words]) => (holds(schema, words).length > 0 ? [type] : []))
    return named.length > 0 ? named : types
  }

  private reference(schema: Schema, where: string): Ebnf.Expression | undefined {
    const place = String(schema["$ref"])
    apart(where, "$ref", [
      ...holds(schema, ["anyOf", "type", "enum", "const"]),
      ...holds(schema, Object.values(ofType).flat())
    ])
    const known = this.referred.get(place)
    if (known !== undefined) {
      if (this.open.includes(place)) return fail(where, `${place} refers only to itself`)
      return known
    }
    const target = this.target(place)
    if (target === undefined) return fail(where, `${place} is not in the schema`)
    const name = this.rules.reserve("reference")
    this.referred.set(place, name)
    this.open.push(place)
    const body = this.schema(target, place)
    this.open.splice(this.open.indexOf(place), 1)
    if (body === undefined) return fail(where, `no value matches ${place}`)
    return this.rules.set(name, body)
  }

  private target(place: string): unknown {
    // A name behind the sign is an anchor.
    if (place !== "#" && !place.startsWith("#/")) return undefined
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
    const { $defs: _, anyOf: __, definitions: ___, ...extra } = schema
    const kept = holds(extra, ["$ref", "type", "enum", "const", ...Object.values(ofType).flat()])
    const base = Object.fromEntries(kept.map((word) => [word, extra[word]]))
    return Ebnf.choice(
      all.map((one, index) => {
        const place = `${where === "" ? "" : `${where}.`}anyOf.${index}`
        if (kept.length === 0) return this.schema(one, place)
        if (one === false) return undefined
        const branch: Schema = one === true ? {} : (one as Schema)
        if (kept.join() === "type" && branch["type"] !== undefined) {
          const types = [extra["type"]].flat()
          const type = [branch["type"]].flat().filter((each) => types.includes(each))
          return type.length === 0 ? undefined : this.schema({ ...branch, type }, place)
        }
        // Keywords that do not affect each other mean the same in one schema as in two.
        const both = holds(branch, ["$ref", "anyOf", "enum", "const", ...kept])
        const areObjects =
          holds(branch, ofType["object"]!).length > 0 && kept.some((word) => ofType["object"]!.includes(word))
        const areLists =
          holds(branch, ofType["array"]!).length > 0 && kept.some((word) => ofType["array"]!.includes(word))
        const isRequiredAlone = holds(branch, ofType["object"]!).join() === "required" && !kept.includes("required")
        if (both.length > 0 || (areObjects && !isRequiredAlone) || areLists) {
          return fail(
            place,
            `answers cannot be constrained by it and by ${kept.join(", ")} next to anyOf; move these into each schema of anyOf`
          )
        }
        return this.schema({ ...base, ...branch }, place)
      })
    )
  }

  private constants(schema: Schema, where: string): Ebnf.Expression | undefined {
    const extra = holds(schema, Object.values(ofType).flat())
    apart(where, "const" in schema ? "const" : "enum", extra)
    const listed = schema["enum"]
    let all: ReadonlyArray<unknown> = "const" in schema ? [schema["const"]] : Array.isArray(listed) ? listed : []
    if ("const" in schema && listed !== undefined) apart(where, "const", ["enum"])
    if (schema["type"] !== undefined) {
      const types = [schema["type"]].flat().map(String)
      all = all.filter((value) => types.includes(typeOf(value)) || (types.includes("integer") && isInteger(value)))
    }
    return Ebnf.choice(all.map((value) => LeafRules.constant(this.rules, value)))
  }

  private typed(schema: Schema, type: string, where: string): Ebnf.Expression | undefined {
    switch (type) {
      case "object":
        return this.object(schema, where)
      case "array":
        return this.array(schema, where)
      case "string":
        return LeafRules.string(this.rules, schema, where)
      case "boolean":
        return '("true" | "false")'
      case "null":
        return '"null"'
      default:
        return LeafRules.number(schema, type, where)
    }
  }

  /** Runs `make` inside a value: a reference to an enclosing place is then a finite recursion. */
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
      const allowed = additionalProperties ?? schema["properties"] === undefined
      const others = this.schema(allowed, within(where, "additionalProperties"))
      const missing = [...required].filter((name) => !Object.hasOwn(properties, name))
      const inner = ObjectRules.members(this.rules, {
        properties: [
          ...Object.entries(properties).map(([name, one]) => ({
            name,
            isRequired: required.has(name),
            value: this.schema(one, within(where, `properties.${name}`))
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
    const bound = schema["maxItems"] === undefined ? undefined : Number(schema["maxItems"])
    return this.inside(() => {
      const first = prefix.map((one, index) => this.schema(one, within(where, `prefixItems.${index}`)))
      const others = this.schema(
        schema["items"] ?? schema["additionalItems"] ?? prefix.length === 0,
        within(where, "items")
      )
      const end = first.findIndex((one) => one === undefined)
      const shortest = end !== -1 ? end : others === undefined ? first.length : undefined
      const to = bound === undefined ? shortest : Math.min(bound, shortest ?? bound)
      if (to !== undefined && from > to) return undefined
      if (first.length === 0)
        return others === undefined ? ObjectRules.within(this.rules, "[", Ebnf.empty, "]") : this.list(others, from, to)
      const comma = ObjectRules.comma(this.rules)
      let rest: Ebnf.Expression = Ebnf.empty
      if (others !== undefined && (to === undefined || to > first.length)) {
        rest = this.rules.counted(
          `(${comma} ${others})`,
          Math.max(0, from - first.length),
          to === undefined ? undefined : to - first.length
        )
      }
      for (let at = Math.min(first.length, to ?? first.length) - 1; at >= 0; at--) {
        const here = Ebnf.sequence(at === 0 ? Ebnf.empty : comma, first[at]!, rest)
        rest = at < from ? here : Ebnf.optional(`(${here})`)
      }
      return ObjectRules.within(this.rules, "[", rest, "]")
    })
  }
}
