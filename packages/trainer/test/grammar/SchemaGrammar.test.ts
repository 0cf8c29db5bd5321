/** Grammars of schemas, walked at random over bytes with the library, and held against a validator of JSON schemas. */
import { assert, describe, it } from "@effect/vitest"
import { ExactJson, Tokenizer } from "@atropos/core"
import { Ajv2020 } from "ajv/dist/2020.js"
import addFormats from "ajv-formats"
import { Effect, Result } from "effect"
import { Grammars } from "../../src/grammar/Grammars.ts"
import * as SchemaGrammar from "../../src/grammar/SchemaGrammar.ts"
import * as Vocabulary from "../../src/grammar/Vocabulary.ts"

const end = 258
const grammars = Effect.runSync(
  Effect.map(Vocabulary.of(Tokenizer.bytes), (vocabulary) => new Grammars(vocabulary!, 259))
)

/** One answer in progress to a schema. */
const begun = Effect.fnUntraced(function* (schema: unknown) {
  const [matcher] = yield* grammars.matchers(ExactJson.write(schema)!, 1, [end])
  return matcher!
})

const isIn = (mask: Int32Array, token: number): boolean => ((mask[token >> 5]! >> (token & 31)) & 1) === 1

const accepts = Effect.fnUntraced(function* (schema: unknown, answer: string) {
  const matcher = yield* begun(schema)
  for (const token of [...new TextEncoder().encode(answer), end]) {
    if (!isIn(yield* matcher.mask, token)) {
      matcher.dispose()
      return false
    }
    matcher.accept(token)
  }
  matcher.dispose()
  return true
})

/** A number from 0 to 1, the next of a seed. */
const randomOf = (seed: number) => {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

/** An answer drawn from the grammar, which ends as soon as it may. */
const drawn = Effect.fnUntraced(function* (schema: unknown, seed: number) {
  const matcher = yield* begun(schema)
  const random = randomOf(seed)
  const bytes: Array<number> = []
  while (bytes.length < 4000) {
    const mask = yield* matcher.mask
    const allowed = Array.from({ length: 259 }, (_, token) => token).filter((token) => isIn(mask, token))
    assert.isAbove(allowed.length, 0, new TextDecoder().decode(Uint8Array.from(bytes)))
    if (allowed.includes(end)) break
    // What closes comes sooner, and blanks seldom.
    const closing = allowed.filter((byte) => '"]},.'.includes(String.fromCharCode(byte)))
    const solid = allowed.filter((byte) => ![32, 10, 9, 13].includes(byte))
    const from = closing.length > 0 && random() < 0.3 ? closing : solid.length > 0 && random() < 0.9 ? solid : allowed
    const token = from[Math.floor(random() * from.length)]!
    matcher.accept(token)
    bytes.push(token)
  }
  matcher.dispose()
  return new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(bytes))
})

const person = {
  type: "object",
  properties: {
    name: { type: "string", minLength: 1, maxLength: 12 },
    age: { type: "integer", minimum: 0, maximum: 130 },
    share: { type: "number", exclusiveMinimum: 0, maximum: 1 },
    kind: { enum: ["a", 'say "b"', null, 1.5, { x: [1] }] },
    tags: { type: "array", items: { type: "string", pattern: '^[a-z"\\\\]{1,3}$' }, minItems: 1, maxItems: 3 }
  },
  required: ["name", "age"],
  additionalProperties: false
}

const schemas: ReadonlyArray<object> = [
  { type: "string", maxLength: 20 },
  { type: "string", minLength: 3, maxLength: 5 },
  { type: "string", pattern: "[A-Z]" },
  { type: "string", pattern: "^(?:[^a-z]|\\d+\\.){2,4}$" },
  { type: "string", pattern: "^a|^b$" },
  { type: "string", pattern: "^[äöü\\u4e00-\\u9fff🙂]+$" },
  { type: "string", pattern: "^\\S{2}\\s\\w*$" },
  ...["date", "time", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri"].map((format) => ({
    type: "string",
    format
  })),
  { type: "integer" },
  { type: "number" },
  { type: "integer", minimum: -120, maximum: -7 },
  { type: "integer", exclusiveMinimum: -3, exclusiveMaximum: 1004 },
  { type: "integer", minimum: 95 },
  { type: "integer", maximum: -1.5 },
  { type: "number", minimum: 0.25, maximum: 0.3 },
  { type: "number", minimum: 0.2, exclusiveMaximum: 0.205 },
  { type: "number", exclusiveMinimum: -1.5, maximum: 12.75 },
  { type: "number", minimum: -0.001, maximum: 0 },
  { type: "number", exclusiveMaximum: -1e-7 },
  { type: "number", minimum: 1e21 },
  { const: { a: [1, "x", null], 'q"': true } },
  { enum: [{ a: 1 }, [2], "\n\t", -0.5] },
  { type: ["string", "null"], enum: ["a", null, 3] },
  { type: "array", prefixItems: [{ type: "boolean" }, { const: 2 }], minItems: 1 },
  { type: "array", prefixItems: [{ const: 1 }], items: { type: "null" }, maxItems: 4 },
  { type: "array", items: false },
  { type: "object" },
  {
    type: "object",
    additionalProperties: { type: "integer", minimum: 1, maximum: 9 },
    minProperties: 1,
    maxProperties: 3
  },
  {
    type: "object",
    properties: { a: { const: 1 }, b: { const: 2 }, c: { const: 3 } },
    minProperties: 1,
    maxProperties: 2
  },
  { type: "object", properties: { a: true }, required: ["a", "z"], additionalProperties: { type: "boolean" } },
  {
    type: "object",
    properties: { ab: { const: 1 }, a: { const: 2 }, b: false },
    additionalProperties: { type: "null" }
  },
  { anyOf: [{ type: "null" }, { minLength: 1, maxLength: 2 }], type: ["null", "string"] },
  { $ref: "#/$defs/tree", $defs: { tree: { type: "array", items: { $ref: "#/$defs/tree" }, maxItems: 2 } } },
  { minimum: 3, maximum: 5, maxLength: 1 },
  person
]

/** Of an object with so many properties that need not be there. */
const weight = (count: number): number =>
  Result.getOrThrow(
    SchemaGrammar.make({
      type: "object",
      properties: Object.fromEntries(
        Array.from({ length: count }, (_, at) => [`property_${100 + at}`, { type: "string" }])
      )
    })
  ).weight

/** Lists in lists, so deep. */
const lists = (depth: number): unknown =>
  Array.from({ length: depth }).reduce<unknown>((items) => ({ type: "array", items }), { type: "integer" })

const many = <A>(make: (at: number) => A) => Array.from({ length: 5000 }, (_, at) => make(at))
const chained = (at: number) => [`d${at}`, at === 4999 ? { type: "null" } : { $ref: `#/$defs/d${at + 1}` }] as const
const listed = (at: number) => [`d${at}`, { type: "array", items: { $ref: `#/$defs/d${(at + 1) % 5000}` } }] as const

describe("grammars of schemas", () => {
  const ajv = addFormats.default(new Ajv2020({ strict: false }))

  it.effect.each(schemas)("take nothing but %j", (schema) =>
    Effect.gen(function* () {
      const validate = ajv.compile(schema)
      for (let seed = 0; seed < 12; seed++) {
        const answer = yield* drawn(schema, 7919 * seed + 1)
        assert.isTrue(validate(JSON.parse(answer)), `${answer}: ${JSON.stringify(validate.errors)}`)
      }
    })
  )

  const answers: ReadonlyArray<readonly [schema: object, right: ReadonlyArray<string>, wrong: ReadonlyArray<string>]> =
    [
      [
        { type: "string", maxLength: 20 },
        ['"say \\"a\\""', '"a\\tb\\u00e9"', '"\\ud83d\\ude42🙂"', '""'],
        ['"a\tb"', '"a\u0000b"', '"\\ud83d"', `"${"a".repeat(21)}"`, '"a']
      ],
      [{ type: "string", minLength: 1 }, ['"a\\nb"'], ['""', '"a\nb"']],
      [{ type: "string", pattern: "^[^a]+$" }, ['"b\\"c\\\\"', '"\\n"'], ['"b"c"', '"b\nc"', '"abc"']],
      [
        ExactJson.parseWritten('{"type":"integer","minimum":9007199254740993}') as object,
        ["9007199254740993", "10000000000000000"],
        ["9007199254740992"]
      ],
      [
        { type: "number", minimum: 0.25, maximum: 1.5 },
        ["0.25", "0.3", "1", "1.5", "1.499"],
        ["0.2", "0.249", "1.51", "2", "-1"]
      ],
      [
        person,
        ['{"name": "Ada", "age": 7}', '{"name":"Ada","age":7,"kind":{"x":[1]}}'],
        ['{"age": 7, "name": "Ada"}', '{"name": "Ada", "age": 131}']
      ],
      [
        { type: "object", properties: { a: { const: 1 } }, additionalProperties: { const: 2 } },
        ['{"a":1,"b":2}', '{"aa":2}', '{"":2}'],
        ['{"a":2}', '{"\\u0061":2}', '{"b":1}']
      ],
      [
        { type: "number", exclusiveMinimum: -1, exclusiveMaximum: 1 },
        ["-0.99999", "0.125", "0", "-0.0000001"],
        ["-1", "1.0", "-1.5"]
      ],
      [{ type: "number", exclusiveMinimum: 0.5 }, ["0.500001", "0.625", "7"], ["0.5", "0.50", "0.4999"]],
      [{ type: "string", pattern: "^(?:a*)*$" }, ['"aa"', '""'], ['"b"']],
      [{ type: "string", pattern: "^(a{2})+(b?){3}$" }, ['"aa"', '"aaaabbb"'], ['"aaa"', '"aabbbb"']],
      ...[33, 63, 65, 1100].map((count) => {
        const least = count > 70 ? 40 : 20
        return [
          { type: "string", minLength: least, maxLength: count },
          [count, count - 1, Math.max(least, count - 32), least].map((length) => `"${"ä".repeat(length)}"`),
          [count + 1, count + 32, least - 1].map((length) => `"${"a".repeat(length)}"`)
        ] as const
      }),
      [
        { items: { type: "null" }, minItems: 35, maxItems: 70 },
        [35, 36, 69, 70].map((length) => JSON.stringify(Array(length).fill(null))),
        [0, 34, 71].map((length) => JSON.stringify(Array(length).fill(null)))
      ],
      [
        { pattern: "^(?:(a{0,9}){9}b{3}){1,2}$" },
        ['"bbb"', `"${"a".repeat(81)}bbbbbb"`],
        [`"${"a".repeat(82)}bbb"`, '"bbbb"', '""']
      ],
      [{ pattern: "^(a?b?){2}$" }, ['"abab"', '"ba"', '""', '"bb"'], ['"aaa"', '"ababa"']],
      [{ pattern: "^(?:a{3}){2,3}$" }, ['"aaaaaa"', '"aaaaaaaaa"'], ['"aaa"', '"aaaaaaa"']],
      [{ pattern: "^(?:a{2,3}){0,2}$" }, ['""', '"aa"', '"aaaaaa"'], ['"a"', '"aaaaaaa"']],
      [{ pattern: "(.{0,1000}){1000}" }, ['""', '"any \\n"'], ["3"]],
      [{ pattern: "b{2,1000}$" }, ['"abb"', '"bbbb"'], ['"ab"', '"bba"']],
      [{ type: "string", pattern: "^a|b$" }, ['"ax"', '"xb"', '"a"'], ['"xa"', '"bx"', '""']],
      [{ type: "string", format: "date" }, ['"2024-02-29"'], ['"2023-02-29"', '"2024-04-31"', '"2024-13-01"']]
    ]
  it.effect.each(answers)("of %j take these and not those", ([schema, right, wrong]) =>
    Effect.gen(function* () {
      for (const answer of right) assert.isTrue(yield* accepts(schema, answer), answer)
      for (const answer of wrong) assert.isFalse(yield* accepts(schema, answer), answer)
    })
  )

  it.effect("find the tokens that may follow in long texts, with the tokens of a language", () =>
    Effect.gen(function* () {
      const letters = Array.from("abcdefghijklmnopqrstuvwxyz")
      const pairs = letters.flatMap((one) => letters.map((other) => one + other))
      const tokens = ['"', "a", ...pairs, ...pairs.flatMap((pair) => letters.map((letter) => pair + letter)), ""]
      const text = tokens.map((token) => `${token}\0`).join("")
      const wide = new Grammars({ kind: "byte_level", text }, tokens.length)
      for (const schema of [{ type: "string", minLength: 1, maxLength: 400 }, { pattern: "^.{1,400}$" }]) {
        const [matcher] = yield* wide.matchers(JSON.stringify(schema), 1, [tokens.length - 1])
        for (const token of [0, ...Array<number>(133).fill(tokens.length - 2), 1]) {
          assert.isTrue(isIn(yield* matcher!.mask, token))
          matcher!.accept(token)
        }
        assert.isTrue(isIn(yield* matcher!.mask, 0))
        matcher!.dispose()
      }
      wide.dispose()
    })
  )

  it.effect(
    "are refused where the tokens that may follow are not found in time, and at once when they come again",
    () =>
      Effect.gen(function* () {
        const vocabulary = yield* Vocabulary.of(Tokenizer.bytes)
        const hasty = new Grammars(vocabulary!, 259, { compileLimit: "1 hour", maskLimit: 0 })
        const schema = JSON.stringify(person)
        const [matcher] = yield* hasty.matchers(schema, 1, [end])
        const first = yield* Effect.flip(matcher!.mask)
        assert.include(first.message, "too many ways to read one text")
        assert.strictEqual(yield* Effect.flip(hasty.matchers(schema, 1, [end])), first)
        hasty.dispose()
      })
  )

  it.effect("hold bounds and constants that no double is", () =>
    Effect.gen(function* () {
      const schema = ExactJson.parseWritten(
        '{"anyOf":[{"const":2432902008176640001},{"type":"integer","minimum":9007199254740993,"maximum":9007199254740993}]}'
      )
      assert.isTrue(yield* accepts(schema, "2432902008176640001"))
      assert.isTrue(yield* accepts(schema, "9007199254740993"))
      assert.isFalse(yield* accepts(schema, "2432902008176640000"))
      assert.isFalse(yield* accepts(schema, "9007199254740992"))
    })
  )

  it.effect("are refused by what is large in them where they take too long, and at once when they come again", () =>
    Effect.gen(function* () {
      const vocabulary = yield* Vocabulary.of(Tokenizer.bytes)
      const hasty = new Grammars(vocabulary!, 259, { compileLimit: 0 })
      const schema = JSON.stringify(person)
      const first = yield* Effect.flip(hasty.matchers(schema, 1, [end]))
      assert.include(first.message, "5 properties, 5 values of enums")
      assert.strictEqual(yield* Effect.flip(hasty.matchers(schema, 1, [end])), first)
      hasty.dispose()
    })
  )

  const refused: ReadonlyArray<readonly [schema: object, problem: string]> = [
    [{ type: "string", pattern: "(?=a)b" }, "pattern: answers cannot be constrained by (?=a)b: it has (?="],
    [
      { properties: { a: { pattern: "(a)\\1" } } },
      "properties.a.pattern: answers cannot be constrained by (a)\\1: it has \\1"
    ],
    [{ pattern: "\\bword\\b" }, "it has \\b"],
    [{ pattern: "\\p{L}" }, "it has \\p"],
    [{ pattern: "a{2,1}" }, "{2,1}, which is out of order"],
    [{ pattern: "a", maxLength: 3 }, "answers cannot be constrained by both pattern and maxLength"],
    [{ format: "date", pattern: "a" }, "answers cannot be constrained by both format and pattern"],
    [{ enum: ["a"], minLength: 3 }, "answers cannot be constrained by both enum and minLength"],
    [{ $ref: "#/$defs/a", type: "string", $defs: { a: {} } }, "answers cannot be constrained by both $ref and type"],
    [{ $ref: "#/nowhere" }, "#/nowhere is not in the schema"],
    [{ $ref: "#name" }, "#name is not in the schema"],
    [{ $ref: "#" }, "refers only to itself"],
    [
      { anyOf: [{ properties: { a: {} } }], properties: { b: {} } },
      "anyOf.0: answers cannot be constrained by it and by properties"
    ],
    [{ type: "integer", minimum: 5, maximum: 4 }, "the schema: no value matches it"],
    [
      { minimum: 1, exclusiveMinimum: 1, type: "number" },
      "answers cannot be constrained by both minimum and exclusiveMinimum"
    ],
    [
      { properties: Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`p${at}`, true])), minProperties: 50 },
      "minProperties and maxProperties are held for 100 properties, not 101"
    ],
    [
      { anyOf: Array.from({ length: 100 }, (_, at) => ({ type: "string", maxLength: 100 + at })) },
      "too large: it has 0 properties, 0 values of enums, 101 objects in all, 2 levels, lengths up to 199"
    ],
    [{ type: "integer", maximum: 1e60 }, "maximum: 1e+60 is not a number of at most 60 digits before the point"],
    [{ pattern: "^((a{1,200}b?){1,200}){1,200}$" }, "parts that can end and go on with the same character"],
    [{ pattern: "^([a-z]+ ?)*$" }, "parts that can end and go on with the same character"],
    [{ pattern: "^(a{0,100}b{0,100}){90}$" }, "parts that can end and go on with the same character"],
    [{ pattern: `^${"[a-z]* ?".repeat(20)}$` }, "parts that can end and go on with the same character"]
  ]
  it.each(refused)("cannot be made of %j", (schema, problem) => {
    assert.include(SchemaGrammar.problem(schema), problem)
  })

  it("grow with the depth of lists in lists, and not faster", () => {
    const lengthOf = (depth: number) => Result.getOrThrow(SchemaGrammar.make(lists(depth))).text.length
    assert.isBelow(lengthOf(80) / lengthOf(20), 4.5)
  })

  it("are refused at once where there are too many schemas in one", () => {
    const prefixItems = Array.from({ length: 11_000 }, () => ({ type: "null" }))
    assert.include(SchemaGrammar.problem({ prefixItems }), "too large: it has 0 properties, 0 values of enums, 11001")
  })

  const large: ReadonlyArray<readonly [what: string, schema: object]> = [
    ["properties that may be absent", { properties: Object.fromEntries(many((at) => [`p${at}`, true])) }],
    ["references that follow each other", { $ref: "#/$defs/d0", $defs: Object.fromEntries(many(chained)) }],
    ["lists within lists", { $ref: "#/$defs/d0", $defs: Object.fromEntries(many(listed)) }],
    ["characters of patterns", { anyOf: many(() => ({ pattern: "a".repeat(500) })) }]
  ]
  it.each(large)("are refused for too many %s", (_, schema) => {
    assert.include(SchemaGrammar.problem(schema), "the schema is too large")
  })

  it.effect("end no answer in progress with the deepest bounds and repetitions that they take", () =>
    Effect.gen(function* () {
      const begun = yield* grammars.matchers('{"type":"boolean"}', 1, [end])
      for (const [schema, answer] of [
        [{ type: "integer", minimum: -(10n ** 59n), maximum: 10n ** 59n - 7n }, "99"],
        [{ type: "number", exclusiveMinimum: -9.99999e59, maximum: 9.99999e59 }, "-0.5"],
        [{ type: "string", pattern: "^(a+)+$" }, '"aaa"'],
        [{ type: "string", pattern: "^((\\d{3})*)?$" }, '"123456"'],
        [{ type: "string", pattern: "^((((a{1,9}){1,9}){1,9})?){2}$" }, '"aa"']
      ] as const) {
        assert.isTrue(yield* accepts(schema, answer), JSON.stringify(answer))
      }
      assert.isTrue(isIn(yield* begun[0]!.mask, 116))
      begun[0]!.dispose()
    })
  )

  it("grow with the properties that need not be there, and not faster", () => {
    assert.isBelow(weight(200) / weight(50), 4.5)
  })
})
