import { assert, describe, it } from "@effect/vitest"
import * as Keywords from "../../src/grammar/Keywords.ts"

describe("schemas that answers are held to", () => {
  it("may say what a grammar holds", () => {
    const schema = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      title: "Person",
      type: "object",
      properties: {
        name: { type: "string", minLength: 1, pattern: "^[A-Z]" },
        born: { type: ["string", "null"], format: "date" },
        friends: { type: "array", items: { $ref: "#/$defs/name" }, maxItems: 3 },
        kind: { anyOf: [{ const: 1 }, { enum: ["a", null] }, true] },
        properties: { type: "number", minimum: 0 }
      },
      required: ["name"],
      additionalProperties: false,
      $defs: { name: { type: "string" } }
    }
    assert.isUndefined(Keywords.problem(schema))
  })

  const wrong: ReadonlyArray<readonly [schema: unknown, problem: string]> = [
    [3, "the schema: expected a schema, got 3"],
    [
      { type: "text" },
      'type: expected one of object, array, string, number, integer, boolean, null, or a list of them, got "text"'
    ],
    [{ not: {} }, "not: answers cannot be constrained by not; remove it, and check it afterwards"],
    [{ properties: { a: { multipleOf: 3 } } }, "properties.a.multipleOf: answers cannot be constrained by multipleOf"],
    [{ anyOf: [{}, { uniqueItems: true }] }, "anyOf.1.uniqueItems: answers cannot be constrained by uniqueItems"],
    [{ oneOf: [{}] }, "oneOf: answers cannot be constrained by oneOf"],
    [{ items: [] }, "items: expected a schema, got []"],
    [{ properties: [] }, "properties: expected an object of schemas, got []"],
    [{ required: "a" }, 'required: expected a list of names, got "a"'],
    [{ $ref: "https://x" }, '$ref: expected a location in this schema, such as "#/$defs/name", got "https://x"'],
    [{ format: "colour" }, "format: expected one of date"],
    [{ minLength: -1 }, "minLength: expected a count, got -1"]
  ]
  it.each(wrong)("may not be %j", (schema, problem) => {
    assert.include(Keywords.problem(schema), problem)
  })
})
