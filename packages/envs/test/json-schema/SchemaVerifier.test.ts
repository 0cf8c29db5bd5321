import { assert, describe, it, layer } from "@effect/vitest"
import { Context, Effect, Layer, Result } from "effect"
import * as Waits from "../../../core/test/base/Waits.ts"
import * as SchemaVerifier from "../../src/json-schema/SchemaVerifier.ts"

class Verifier extends Context.Service<Verifier, Effect.Success<ReturnType<typeof SchemaVerifier.make>>>()(
  "test/Verifier"
) {}

const layerWith = (options: Partial<SchemaVerifier.Options>) => Layer.effect(Verifier, SchemaVerifier.make(options))

const judge = (schema: unknown, answer: string) =>
  Effect.flatMap(Verifier, (judging) => judging(JSON.stringify(schema), answer))
const tagOf = (schema: unknown, answer: string) => Effect.map(judge(schema, answer), ({ _tag }) => _tag)

const event = { type: "object", properties: { at: { type: "string", format: "date-time" } }, required: ["at"] }

layer(layerWith({ workers: 1 }), { excludeTestServices: true })("SchemaVerifier", (it) => {
  it.effect("tells valid answers from others, and why", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* tagOf(event, '{"at": "2024-05-06T07:08:09Z"}'), "valid")
      assert.deepStrictEqual(yield* judge(event, '{"at": "yesterday"}'), {
        _tag: "invalid",
        problem: '/at must match format "date-time"'
      })
      assert.deepStrictEqual(yield* judge({ type: "object" }, '{"answer": 1, "answer": 2}'), {
        _tag: "invalid",
        problem: 'the key "answer" is given twice'
      })
      assert.deepStrictEqual(yield* judge(event, "{at: 1}"), { _tag: "invalid", problem: "not JSON" })
      assert.strictEqual(yield* tagOf(event, '{"at": "2024-05-06T07:08:09Z"} and so on'), "invalid")
    })
  )

  it.effect("takes no answer for one with the properties that every object of JavaScript has", () =>
    Effect.gen(function* () {
      for (const name of ["constructor", "toString", "hasOwnProperty", "valueOf"]) {
        const properties = Object.fromEntries([[name, { type: "string" }]])
        const [optional, required] = [{ properties }, { properties, required: [name] }]
        assert.strictEqual(yield* tagOf(optional, "{}"), "valid", name)
        assert.strictEqual(yield* tagOf({ ...optional, additionalProperties: false }, "{}"), "valid", name)
        assert.strictEqual(yield* tagOf({ dependentRequired: Object.fromEntries([[name, ["a"]]]) }, "{}"), "valid")
        assert.strictEqual(yield* tagOf(required, "{}"), "invalid", name)
        assert.strictEqual(yield* tagOf(required, `{"${name}": "a"}`), "valid", name)
        assert.strictEqual(yield* tagOf(required, `{"${name}": 1}`), "invalid", name)
      }
    })
  )

  it.effect("knows the dialects a schema names, and says which it does not know", () =>
    Effect.gen(function* () {
      const draft07 = {
        $schema: "http://json-schema.org/draft-07/schema#",
        items: [{ type: "number" }],
        additionalItems: false
      }
      assert.strictEqual(yield* tagOf(draft07, "[1]"), "valid")
      assert.strictEqual(yield* tagOf(draft07, "[1, 2]"), "invalid")
      const modern = {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        prefixItems: [{ type: "number" }],
        items: false
      }
      assert.strictEqual(yield* tagOf(modern, "[1]"), "valid")
      assert.strictEqual(yield* tagOf(modern, "[1, 2]"), "invalid")
      const old = yield* judge({ $schema: "http://json-schema.org/draft-03/schema#" }, "1")
      assert.match(old._tag === "unusable" ? old.problem : "", /unknown dialect .*draft-03/)
    })
  )

  it.effect("calls schemas unusable that cannot be compiled or lead outside", () =>
    Effect.gen(function* () {
      const problemOf = (schema: unknown) =>
        Effect.map(judge(schema, "1"), (verdict) => (verdict._tag === "unusable" ? verdict.problem : verdict._tag))
      assert.match(yield* problemOf({ type: "strin" }), /schema is invalid/)
      assert.match(yield* problemOf({ pattern: "(" }), /regular expression|regex/i)
      assert.match(yield* problemOf({ $ref: "http://example.org/schema.json" }), /can't resolve reference/)
      assert.match(yield* problemOf({ $ref: "#/$defs/none" }), /can't resolve reference/)
    })
  )

  it.effect("takes multiples of decimals as written, and of integers at any length", () =>
    Effect.gen(function* () {
      const rows: ReadonlyArray<readonly [multipleOf: string, answer: string, tag: "valid" | "invalid"]> = [
        ...["19.99", "1.15", "4.35", "0.07", "-0.07", "0", "3", "1e3", "1.10"].map(
          (answer) => ["0.01", answer, "valid"] as const
        ),
        ["0.01", "19.995", "invalid"],
        ["0.01", "1e-7", "invalid"],
        ["1e-7", "3e-7", "valid"],
        ["0.1", "0.3", "valid"],
        ["2", "9007199254740993", "invalid"],
        ["2", "9007199254740994", "valid"],
        ["5", "12345678901234567891", "invalid"],
        ["0.5", "12345678901234567891", "valid"],
        ["9007199254740993", "27021597764222979", "valid"],
        ["9007199254740993", "27021597764222980", "invalid"],
        ["1e-300", "1e300", "valid"],
        ["2", "1e400", "invalid"],
        ["2", '"1"', "valid"]
      ]
      const judging = yield* Verifier
      for (const dialect of ["https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"])
        for (const [unit, answer, tag] of rows) {
          const schema = `{"$schema": "${dialect}", "properties": {"a": {"multipleOf": ${unit}}}}`
          assert.strictEqual((yield* judging(schema, `{"a": ${answer}}`))._tag, tag, `${answer} for ${unit}`)
        }
      assert.deepStrictEqual(yield* judging('{"items": {"multipleOf": 0.01}}', "[1, 1.155]"), {
        _tag: "invalid",
        problem: "/1 must be a multiple of the number"
      })
      assert.strictEqual((yield* judging('{"multipleOf": 0}', "1"))._tag, "unusable")
    })
  )

  it.effect("compares integers exactly at any length", () =>
    Effect.gen(function* () {
      const rows: ReadonlyArray<readonly [schema: string, answer: string, tag: "valid" | "invalid"]> = [
        ['{"const": 9007199254740993}', "9007199254740993", "valid"],
        ['{"const": 9007199254740993}', "9007199254740992", "invalid"],
        ['{"const": 9007199254740993}', "9007199254740993.0", "valid"],
        ['{"const": 9007199254740993}', "9007199254740993.5", "invalid"],
        ['{"type": "integer"}', "9007199254740993.5", "invalid"],
        ['{"type": "integer"}', "-1.0000000000000000001", "invalid"],
        ['{"type": "integer"}', "9007199254740993.0", "valid"],
        ['{"type": "number"}', "9007199254740993.5", "valid"],
        ['{"properties": {"a": {"type": "integer"}}}', '{"a": 9007199254740993.5}', "invalid"],
        ['{"items": {"type": ["integer", "null"]}}', "[1, 9007199254740993.5]", "invalid"],
        ['{"minimum": 9007199254740993}', "9007199254740993.5", "valid"],
        ['{"maximum": 9007199254740993}', "9007199254740993.5", "invalid"],
        ['{"exclusiveMaximum": 9007199254740993.5}', "9007199254740993.5", "invalid"],
        ['{"maximum": 2}', "1.0000000000000000001", "valid"],
        ['{"multipleOf": 0.5}', "9007199254740993.5", "valid"],
        ['{"multipleOf": 2}', "9007199254740993.5", "invalid"],
        ['{"uniqueItems": true}', "[9007199254740993.5, 9007199254740993.5]", "invalid"],
        ['{"uniqueItems": true}', "[9007199254740993.5, 9007199254740993.25]", "valid"],
        ['{"enum": [1, 2432902008176640001]}', "2432902008176640000", "invalid"],
        ['{"enum": [1, 2432902008176640001]}', "2432902008176640001", "valid"],
        ['{"enum": [1, 2432902008176640001]}', "1", "valid"],
        ['{"const": {"id": [12345678901234567890]}}', '{"id": [12345678901234567890]}', "valid"],
        ['{"const": {"id": [12345678901234567890]}}', '{"id": [12345678901234567891]}', "invalid"],
        ['{"const": {"": 9007199254740993}}', '{"": 9007199254740992}', "invalid"],
        ['{"const": {"": 9007199254740993}}', '{"": 9007199254740993}', "valid"],
        ['{"minimum": 9007199254740993}', "9007199254740992", "invalid"],
        ['{"exclusiveMaximum": 9007199254740993}', "9007199254740992", "valid"],
        ['{"maximum": 9007199254740992}', "9007199254740993", "invalid"],
        ['{"exclusiveMinimum": 9007199254740992}', "9007199254740993", "valid"],
        ['{"uniqueItems": true}', "[9007199254740992, 9007199254740993]", "valid"],
        ['{"uniqueItems": true}', "[9007199254740993, 9007199254740993]", "invalid"],
        ['{"const": 0.1}', "0.1000000000000000055511151231257827", "valid"],
        ['{"properties": {"a": {"const": 9007199254740993}}}', '{"a": 9007199254740993}', "valid"],
        ['{"properties": {"a": {"const": 9007199254740993}}}', '{"a": 9007199254740994}', "invalid"],
        [
          '{"$schema": "http://json-schema.org/draft-07/schema#", "const": 9007199254740993}',
          "9007199254740992",
          "invalid"
        ],
        ['{"type": "integer", "minLength": 3}', "123456789012345678901234567890", "valid"]
      ]
      const judging = yield* Verifier
      for (const [schema, answer, tag] of rows) {
        assert.strictEqual((yield* judging(schema, answer))._tag, tag, `${answer} for ${schema}`)
      }
    })
  )

  it.effect("passes unknown keywords and formats over", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* tagOf({ type: "string", "x-order": 1, format: "never-heard-of" }, '"a"'), "valid")
    })
  )

  it.effect("follows references of a schema to itself", () =>
    Effect.gen(function* () {
      const tree = {
        $defs: {
          node: { type: "object", properties: { next: { $ref: "#/$defs/node" } }, additionalProperties: false }
        },
        $ref: "#/$defs/node"
      }
      assert.strictEqual(yield* tagOf(tree, '{"next": {"next": {}}}'), "valid")
      assert.strictEqual(yield* tagOf(tree, '{"next": {"last": {}}}'), "invalid")
    })
  )

  it.effect("treats property names of any kind as names", () =>
    Effect.gen(function* () {
      const odd = { properties: { 'a"]; process.exit(1); //': { type: "string" }, __proto__: { type: "string" } } }
      assert.strictEqual(yield* tagOf(odd, '{"a\\"]; process.exit(1); //": 1}'), "invalid")
      assert.strictEqual(yield* tagOf(odd, '{"__proto__": {"polluted": 1}, "constructor": 1}'), "valid")
      assert.isUndefined((Object.prototype as { readonly polluted?: unknown }).polluted)
    })
  )

  it.effect("refuses answers that are too long without a thread", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* judge({}, `"${"x".repeat(70_000)}"`), { _tag: "invalid", problem: "too long" })
    })
  )
})

layer(layerWith({ workers: 1, deadline: "500 millis" }), { excludeTestServices: true })("a hostile pattern", (it) => {
  it.effect("costs its deadline and nothing else", () =>
    Effect.gen(function* () {
      const late = yield* judge({ pattern: "^(a+)+$" }, `"${"a".repeat(60)}!"`)
      assert.deepStrictEqual(late, { _tag: "invalid", problem: "timedOut" })
      // Its thread is a new one, which may take longer to start than the deadline.
      yield* Waits.until("a verdict", tagOf({ type: "number" }, "1"), (tag) => tag === "valid")
    })
  )
})

layer(layerWith({ workers: 1, deadline: "1 hour" }), { excludeTestServices: true })("a hostile schema", (it) => {
  it.effect("is refused", () =>
    Effect.gen(function* () {
      const hostile: ReadonlyArray<readonly [schema: unknown, answer: string, problem: string]> = [
        [{ type: "array" }, "[".repeat(60_000), "not JSON"],
        [{ $defs: { a: { allOf: [{ $ref: "#/$defs/a" }] } }, $ref: "#/$defs/a" }, "{}", "cannot be followed to its end"]
      ]
      for (const [schema, answer, problem] of hostile) {
        assert.deepStrictEqual(yield* judge(schema, answer), { _tag: "invalid", problem })
      }
      assert.strictEqual(yield* tagOf({ type: "number" }, "1"), "valid")
    })
  )
})

const problemOf = (schema: unknown) =>
  Result.match(SchemaVerifier.schemaText(schema), { onFailure: (problem) => problem, onSuccess: () => "none" })
const nested = (depth: number): unknown => (depth === 0 ? {} : { properties: { a: nested(depth - 1) } })

describe("schemaText", () => {
  it("takes texts and objects", () => {
    assert.strictEqual(Result.getOrThrow(SchemaVerifier.schemaText('{"type": "object"}')), '{"type": "object"}')
    assert.strictEqual(Result.getOrThrow(SchemaVerifier.schemaText({ type: "object" })), '{"type":"object"}')
  })

  it("says what is wrong with others", () => {
    assert.strictEqual(problemOf("{type: object}"), "the schema is not JSON")
    assert.strictEqual(problemOf("[]"), "the schema is not a JSON object")
    assert.strictEqual(problemOf("true"), "the schema is not a JSON object")
    assert.strictEqual(
      problemOf({ title: "x".repeat(40_000) }),
      "the schema has 40012 characters; at most 32768 are allowed"
    )
    assert.strictEqual(problemOf(nested(20)), "the schema is more than 32 levels deep")
    assert.strictEqual(problemOf(nested(15)), "none")
    assert.strictEqual(problemOf("[".repeat(30_000)), "the schema is not JSON")
  })
})
