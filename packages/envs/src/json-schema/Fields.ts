/**
 * Fields of generated schemas: a piece of schema, valid values and invalid ones.
 *
 * The prompt states the value of a fixed field; a free one may have any valid value, which requires reading the schema.
 */
import type { SeededRandom } from "@atropos/core"

export type Random = SeededRandom.SeededRandom
export type Json = string | number | boolean | null | ReadonlyArray<Json> | { readonly [key: string]: Json }

export interface Field {
  readonly name: string
  readonly schema: { readonly [keyword: string]: Json }
  readonly fits: Json
  /** Invalid values. */
  readonly misfits: ReadonlyArray<Json>
  /** The prompt's statement of the value, if it states it. */
  readonly told?: string
}

type Draw = (random: Random) => Field

const names = ["Mia", "Noah", "Ava", "Liam", "Zoe", "Omar", "Ines", "Kai", "Lena", "Ravi"]
const cities = ["Lyon", "Porto", "Oslo", "Kyoto", "Quito", "Accra", "Perth", "Turin"]
const goods = ["lamp", "chair", "kettle", "ladder", "mirror", "basket"]
const tags = ["red", "small", "new", "sale", "wood", "glass", "spare", "heavy"]

const statement = (
  name: string,
  schema: Field["schema"],
  fits: Json,
  misfits: ReadonlyArray<Json>,
  text: string
): Field => ({
  name,
  schema,
  fits,
  misfits,
  told: text
})

/** Fields whose value the prompt states. */
export const toldFields: ReadonlyArray<Draw> = [
  (random) => {
    const name = random.pick(names)
    return statement(
      "name",
      { type: "string", minLength: 1 },
      name,
      [7, "", names.find((one) => one !== name)!],
      `The name is ${name}.`
    )
  },
  (random) => {
    const age = random.between(18, 90)
    return statement(
      "age",
      { type: "integer", minimum: 0, maximum: 130 },
      age,
      [String(age), age + 0.5, age + 1],
      `The age is ${age}.`
    )
  },
  (random) => {
    const city = random.pick(cities)
    return statement("city", { enum: cities }, city, ["Atlantis", city.toLowerCase()], `The city is ${city}.`)
  },
  (random) => {
    const cents = random.between(100, 99_999)
    return statement(
      "price",
      { type: "number", exclusiveMinimum: 0 },
      cents / 100,
      [-cents / 100, `${cents / 100}`],
      `The price is ${cents / 100} euros.`
    )
  },
  (random) => {
    const isMember = random.chance(0.5)
    return statement(
      "member",
      { type: "boolean" },
      isMember,
      [String(isMember), isMember ? 1 : 0, !isMember],
      isMember ? "It is a member." : "It is not a member."
    )
  },
  (random) => {
    const list = random.sample(goods, random.between(2, 4))
    return statement(
      "items",
      { type: "array", items: { enum: goods }, uniqueItems: true, minItems: 1 },
      list,
      [[...list, list[0]!], [], list.join(", ")],
      `The items, in this order, are ${list.join(", ")}.`
    )
  },
  (random) => {
    const [year, month, day] = [random.between(1990, 2024), random.between(1, 12), random.between(1, 28)]
    const date = [year, String(month).padStart(2, "0"), String(day).padStart(2, "0")].join("-")
    return statement(
      "since",
      { type: "string", format: "date" },
      date,
      [`${day}.${month}.${year}`, "2024-13-01"],
      `The date since when is ${date}.`
    )
  }
]

/** Fields with any valid value. */
export const freeFields: ReadonlyArray<Draw> = [
  (random) => {
    const digits = random.between(3, 6)
    const number = "1234567".slice(0, digits)
    return {
      name: "id",
      schema: { type: "string", pattern: `^[A-Z]{2}-[0-9]{${digits}}$` },
      fits: `AB-${number}`,
      misfits: [`ab-${number}`, `AB-${number}0`, "AB"]
    }
  },
  (random) => {
    const min = random.between(2, 4)
    return {
      name: "tags",
      schema: {
        type: "array",
        items: { type: "string", pattern: "^[a-z]+$" },
        minItems: min,
        maxItems: min + 2,
        uniqueItems: true
      },
      fits: tags.slice(0, min),
      misfits: [
        tags.slice(0, min - 1),
        tags.slice(0, min + 3),
        Array.from({ length: min }, () => "red"),
        tags.map((tag) => tag.toUpperCase()).slice(0, min)
      ]
    }
  },
  (random) => {
    const low = random.between(1, 50)
    const step = random.pick([2, 3, 5])
    const fits = (Math.floor(low / step) + 1) * step
    return {
      name: "rating",
      schema: { type: "integer", exclusiveMinimum: low, maximum: low + 2 * step, multipleOf: step },
      fits,
      misfits: [fits + 1, low, fits + 3 * step, String(fits)]
    }
  },
  () => ({
    name: "email",
    schema: { type: "string", format: "email" },
    fits: "mia@example.org",
    misfits: ["mia", "mia@", 3]
  }),
  () => ({
    name: "website",
    schema: { type: "string", format: "uri", pattern: "^https://" },
    fits: "https://example.org/a",
    misfits: ["http://example.org", "https:// example", null]
  }),
  () => ({
    name: "size",
    schema: {
      type: "object",
      properties: { width: { type: "number", exclusiveMinimum: 0 }, height: { type: "number", exclusiveMinimum: 0 } },
      required: ["width", "height"],
      additionalProperties: false
    },
    fits: { width: 2, height: 3.5 },
    misfits: [{ width: 2 }, { width: 2, height: 0 }, { width: 2, height: 3, depth: 1 }, [2, 3]] as const
  }),
  (random) => {
    const version = random.between(2, 9)
    return { name: "version", schema: { const: version }, fits: version, misfits: [version + 1, String(version)] }
  },
  () => ({
    name: "status",
    schema: { oneOf: [{ type: "null" }, { enum: ["open", "closed"] }] as const },
    fits: "open",
    misfits: ["opened", false, ""]
  }),
  (random) => {
    const min = random.between(10, 30)
    return {
      name: "note",
      schema: { type: "string", minLength: min, maxLength: min + 20 },
      fits: "a note that is long enough, and not too long".slice(0, min + 5),
      misfits: ["short", "x".repeat(min + 21)]
    }
  },
  () => ({
    name: "position",
    schema: {
      type: "array",
      prefixItems: [
        { type: "number", minimum: -90, maximum: 90 },
        { type: "number", minimum: -180, maximum: 180 }
      ],
      items: false,
      minItems: 2
    },
    fits: [45.5, 7],
    misfits: [[45.5], [100, 7], [1, 2, 3], ["45.5", "7"]]
  }),
  () => ({
    name: "history",
    schema: { type: "array", items: { $ref: "#/$defs/event" }, minItems: 1 },
    fits: [
      { kind: "made", year: 2001 },
      { kind: "sold", year: 2020, buyer: "Ava" }
    ] as const,
    misfits: [[], [{ kind: "made" }], [{ kind: "sold", year: 2020 }], [{ kind: "lost", year: 2020 }]]
  })
]

export const definitions: { readonly [name: string]: { readonly [keyword: string]: Json } } = {
  event: {
    type: "object",
    properties: {
      kind: { enum: ["made", "sold"] },
      year: { type: "integer", minimum: 1900 },
      buyer: { type: "string" }
    },
    required: ["kind", "year"],
    if: { properties: { kind: { const: "sold" } } },
    // `then` is JSON Schema's name for a condition's consequence.
    // oxlint-disable-next-line unicorn/no-thenable
    then: { required: ["buyer"] },
    additionalProperties: false
  }
}
