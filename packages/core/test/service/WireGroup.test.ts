import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Result, Schema } from "effect"
import * as WireGroup from "../../src/service/WireGroup.ts"

const bytes = (text: string) => new TextEncoder().encode(text)
const text = (json: Uint8Array) => new TextDecoder().decode(json)
const read = (json: string) => WireGroup.read(bytes(json))
const stored = (json: string): unknown => JSON.parse(text(Result.getOrThrow(read(json)).json))
const mistakes = (result: Result.Result<unknown, WireGroup.WireError>) => {
  assert(Result.isFailure(result))
  return result.failure.mistakes
}
const wrong = (json: string) => mistakes(read(json))
const nulls = {
  advantages: null,
  ref_logprobs: null,
  messages: null,
  generation_params: null,
  inference_logprobs: null,
  overrides: null,
  group_overrides: null,
  images: null,
  env_id: null,
  distill_token_ids: null,
  distill_logprobs: null
}
const minimal = { tokens: [[1]], masks: [[1]], scores: [1] }
const withField = (field: string, json: string) => `{"tokens":[[1]],"masks":[[1]],"scores":[1],"${field}":${json}}`
const token = (json: string) => `{"tokens":[[${json}]],"masks":[[1]],"scores":[1]}`
const score = (json: string) => `{"tokens":[[1]],"masks":[[1]],"scores":[${json}]}`

describe("WireGroup.read", () => {
  it("stores all keys in the original's order, values as they came, private keys dropped", () => {
    const json =
      '{"seed":{"a":[1,"]}"]}, "scores" : [1.50, -2e-1],"masks":[[-100 , 2],[ ]],\n"tokens":[[1, 2],[]],"images":"a\\"]b"}'
    assert.strictEqual(
      text(Result.getOrThrow(read(json)).json),
      '{"tokens":[[1, 2],[]],"masks":[[-100 , 2],[ ]],"scores":[1.50, -2e-1],"advantages":null,"ref_logprobs":null,' +
        '"messages":null,"generation_params":null,"inference_logprobs":null,"overrides":null,"group_overrides":null,' +
        '"images":"a\\"]b","env_id":null,"distill_token_ids":null,"distill_logprobs":null}'
    )
  })

  it("takes the last of a key that comes twice, whatever its shape", () => {
    assert.deepStrictEqual(stored('{"tokens":[[1],[2],[3]],"masks":[[5]],"tokens":[[7]],"scores":[1],"masks":[[7]]}'), {
      ...nulls,
      tokens: [[7]],
      masks: [[7]],
      scores: [1]
    })
    assert.deepStrictEqual(stored('{"tokens":[],"masks":[[7]],"scores":[1],"x":{"a":[[]]},"tokens":[[7]]}'), {
      ...nulls,
      tokens: [[7]],
      masks: [[7]],
      scores: [1]
    })
  })

  it.each(["advantages", "ref_logprobs", "inference_logprobs", "overrides", "distill_token_ids", "distill_logprobs"])(
    "an empty list of %s, which a client did not fill, is absent",
    (field) => {
      assert.deepStrictEqual(stored(withField(field, " [ ]")), { ...nulls, ...minimal })
      assert.deepStrictEqual(Object.keys(Result.getOrThrow(WireGroup.decode({ ...minimal, [field]: [] }))), [
        "tokens",
        "masks",
        "scores"
      ])
    }
  )

  it("reads keys written with escapes", () => {
    assert.deepStrictEqual(stored('{"t\\u006fkens":[[7]],"masks":[[7]],"scores":[1]}'), {
      ...nulls,
      tokens: [[7]],
      masks: [[7]],
      scores: [1]
    })
  })

  it("coerces what pydantic coerces", () => {
    const json =
      '{"tokens":[[1.0,"2"," 1_000 ","3.00",true,1e2]],"masks":[[1,2,3,4,5,6]],"scores":[true],"advantages":[["1.5"," .5 ","1_0e1"]],"env_id":"4"}'
    assert.deepStrictEqual(stored(json), {
      ...nulls,
      tokens: [[1, 2, 1000, 3, 1, 100]],
      masks: [[1, 2, 3, 4, 5, 6]],
      scores: [1],
      advantages: [[1.5, 0.5, 100]],
      env_id: 4
    })
  })

  it.each(["2_0", " 1 ", ".5", "5.", "+1e-3", "1_.5", "1e_5"])("takes %j for a float", (text) => {
    assert(Result.isSuccess(read(score(JSON.stringify(text)))))
  })

  it.each([" 2_0", "_1", "1__0", "1_", "", ".", "e5", "1 0", "0x10"])("does not take %j for a float", (text) => {
    assert.strictEqual(wrong(score(JSON.stringify(text)))[0]?.type, "float_parsing")
  })

  it("writes integers without a fraction", () => {
    assert.include(text(Result.getOrThrow(read(token("1.0"))).json), '"tokens":[[1]]')
    assert.include(text(Result.getOrThrow(read(token("1e0"))).json), '"tokens":[[1]]')
  })

  it("keeps free-form values untouched", () => {
    const messages = '[[{"role":"tool","content":null,"reward":1.0,"x":[{"\\u00e9":"\\ud800 \\n"}]}]]'
    assert.include(text(Result.getOrThrow(read(withField("messages", messages))).json), `"messages":${messages},`)
  })

  it("counts sequences and tokens", () => {
    const received = Result.getOrThrow(read('{"tokens":[[1,2],[3]],"masks":[[1,2],[3]],"scores":[0,1],"env_id":-1}'))
    assert.deepStrictEqual([received.sequences, received.tokens, received.scores, received.envId], [2, 3, [0, 1], -1])
  })

  it("takes masks that are not the tokens, and advantages and messages of any length", () => {
    assert(
      Result.isSuccess(
        read('{"tokens":[[1,2,3]],"masks":[[0,1,1]],"scores":[1],"advantages":[[1,1,1,1]],"messages":[]}')
      )
    )
  })

  it("takes a group without sequences", () => {
    assert(Result.isSuccess(read('{"tokens":[],"masks":[],"scores":[]}')))
  })

  it("takes NaN in a private key, and refuses it elsewhere with its place", () => {
    assert.deepStrictEqual(stored('{"tokens":[[1]],"masks":[[1]],"scores":[1],"loss":{"x":NaN},"y":-Infinity}'), {
      ...nulls,
      ...minimal
    })
    assert.deepStrictEqual(wrong('{"tokens":[[1]],"masks":[[1]],"scores":[NaN],"images":["NaN",{"a":-Infinity}]}'), [
      { type: "finite_number", loc: ["body", "scores", 0], msg: "Input should be a finite number", input: "NaN" },
      {
        type: "finite_number",
        loc: ["body", "images", 1, "a"],
        msg: "Input should be a finite number",
        input: "-Infinity"
      }
    ])
    assert.strictEqual(wrong(score('"nan"'))[0]?.type, "finite_number")
    assert.strictEqual(wrong(score("1e999"))[0]?.type, "finite_number")
    assert.strictEqual(wrong(token("Infinity"))[0]?.type, "finite_number")
  })

  it.each([
    ["1.5", "int_from_float"],
    ['"1.5"', "int_parsing"],
    ['""', "int_parsing"],
    ['"1."', "int_parsing"],
    ["null", "int_type"],
    ["[1]", "int_type"],
    ["-1", "greater_than_equal"],
    ["2147483648", "less_than_equal"],
    ["99999999999999999999999", "less_than_equal"]
  ])("refuses the token %s as %s", (json, type) => {
    assert.deepStrictEqual(
      wrong(token(json)).map((mistake) => [mistake.type, mistake.loc]),
      [[type, ["body", "tokens", 0, 0]]]
    )
  })

  it.each([
    ["masks", '{"tokens":[[1]],"masks":[],"scores":[1]}', ["body", "masks"]],
    ["mask", '{"tokens":[[1]],"masks":[[1,2]],"scores":[1]}', ["body", "masks", 0]],
    ["scores", '{"tokens":[[1]],"masks":[[1]],"scores":[1,2]}', ["body", "scores"]],
    ["logprobs", withField("inference_logprobs", "[[1,2]]"), ["body", "inference_logprobs", 0]],
    ["overrides", withField("overrides", "[{},{}]"), ["body", "overrides"]],
    ["advantages", withField("advantages", "[[1],[2]]"), ["body", "advantages"]]
  ])("refuses %s of another length, naming the field", (_, json, loc) => {
    assert.deepStrictEqual(
      wrong(json).map((mistake) => [mistake.type, mistake.loc]),
      [["length_mismatch", loc]]
    )
  })

  it("words mistakes as pydantic does, in the order of the fields", () => {
    assert.deepStrictEqual(
      wrong('{"masks":null,"tokens":[1,null],"overrides":[null],"messages":[[{"content":"x"}]]}'),
      [
        { type: "list_type", loc: ["body", "tokens", 0], msg: "Input should be a valid list", input: 1 },
        { type: "list_type", loc: ["body", "tokens", 1], msg: "Input should be a valid list", input: null },
        { type: "list_type", loc: ["body", "masks"], msg: "Input should be a valid list", input: null },
        {
          type: "missing",
          loc: ["body", "scores"],
          msg: "Field required",
          input: { masks: null, tokens: [1, null], overrides: [null], messages: [[{ content: "x" }]] }
        },
        {
          type: "value_error",
          loc: ["body", "messages"],
          msg: "Value error, Message must have 'role' and 'content' fields",
          input: [[{ content: "x" }]],
          ctx: { error: {} }
        },
        { type: "dict_type", loc: ["body", "overrides", 0], msg: "Input should be a valid dictionary", input: null }
      ]
    )
  })

  it.each([
    ["3.5e38", "less_than_equal"],
    ["-1e39", "greater_than_equal"],
    ['"1e308"', "less_than_equal"]
  ])("refuses the score %s, which no trainer can compute with in float32, as %s", (score, type) => {
    assert.deepStrictEqual(
      wrong(`{"tokens":[[1],[2]],"masks":[[1],[2]],"scores":[3.4e38,${score}]}`).map((mistake) => [
        mistake.type,
        mistake.loc
      ]),
      [[type, ["body", "scores", 1]]]
    )
  })

  it.each([
    ["[[1]]", "dict_type", ["body", "messages", 0, 0]],
    ["5", "list_type", ["body", "messages"]],
    ["[null]", "list_type", ["body", "messages", 0]],
    ['[["role content"]]', "dict_type", ["body", "messages", 0, 0]],
    ['{"role":1}', "value_error", ["body", "messages"]],
    ['["hello"]', "value_error", ["body", "messages"]],
    ['[""]', "list_type", ["body", "messages", 0]]
  ])("refuses messages that are %s as %s", (json, type, loc) => {
    assert.deepStrictEqual(
      wrong(withField("messages", json)).map((mistake) => [mistake.type, mistake.loc]),
      [[type, loc]]
    )
  })

  it.each([
    ["{bad", 1, "Expecting property name enclosed in double quotes"],
    ['{"tokens":[[1]],', 16, "Expecting property name enclosed in double quotes"],
    ["[1,2", 4, "Expecting ',' delimiter"],
    ['{"a":1}x', 7, "Extra data"],
    ['{"a" 1}', 5, "Expecting ':' delimiter"],
    ['{"a":}', 5, "Expecting value"],
    ['"abc', 0, "Unterminated string starting at"],
    ['"a\u0001b"', 2, "Invalid control character at"],
    ["tru", 0, "Expecting value"],
    ['{"a":1,}', 7, "Expecting property name enclosed in double quotes"],
    ["[1,]", 3, "Expecting value"],
    ["-", 0, "Expecting value"],
    ["01", 1, "Extra data"],
    ["1.", 1, "Extra data"],
    ['"\\x"', 1, "Invalid \\escape"],
    ['"\\u12"', 2, "Invalid \\uXXXX escape"],
    ["  ", 2, "Expecting value"],
    ["[NaN", 4, "Expecting ',' delimiter"],
    ['"😀" x', 4, "Extra data"]
  ])("reports the malformed text %s at %i: %s", (json, position, error) => {
    assert.deepStrictEqual(wrong(json), [
      { type: "json_invalid", loc: ["body", position], msg: "JSON decode error", input: {}, ctx: { error } }
    ])
  })

  it("tells text that is no UTF-8 from malformed JSON, and reads a byte order mark over", () => {
    const notText = WireGroup.read(Uint8Array.of(0x22, 0xe9, 0x22))
    assert(Result.isFailure(notText))
    assert.strictEqual(notText.failure.reason, "unreadable")
    assert(Result.isSuccess(read("\ufeff" + token("1"))))
  })

  it("refuses nesting that would break a recursive parser, and survives it", () => {
    const deep = (levels: number) => withField("images", "[".repeat(levels) + "]".repeat(levels))
    assert(Result.isSuccess(read(deep(150))))
    assert.strictEqual(wrong(deep(300))[0]?.type, "recursion_loop")
    assert.strictEqual(wrong(deep(100_000))[0]?.type, "recursion_loop")
  })

  it("holds groups to the limits given", () => {
    const limits = { maxSequences: 1, maxTokensPerSequence: 2 }
    const at = (json: string) => mistakes(WireGroup.read(bytes(json), limits)).map(({ loc, msg }) => [loc, msg])
    assert.deepStrictEqual(at('{"tokens":[[1],[1]],"masks":[[1],[1]],"scores":[1,1]}'), [
      [["body", "tokens"], "List should have at most 1 items after validation, not 2"]
    ])
    assert.deepStrictEqual(at('{"tokens":[[1,2,3]],"masks":[[1,2,3]],"scores":[1]}'), [
      [["body", "tokens", 0], "List should have at most 2 items after validation, not 3"]
    ])
  })
})

const write = (rows: ReadonlyArray<ReadonlyArray<string>>) =>
  `[${rows.map((entries) => `[${entries.join(",")}]`).join(", ")}]`

describe("the fast way to read", () => {
  const row = Arbitrary.array(
    Arbitrary.schema(
      Schema.Literals([
        "0",
        "7",
        "-1",
        "2147483647",
        "1.5",
        "-0.25e-3",
        "1e30",
        "1e39",
        "true",
        '"3"',
        "null",
        " 12 ",
        "[1]",
        "-",
        "01",
        "1."
      ])
    ),
    { maxLength: 3 }
  )
  const matrix = Arbitrary.array(row, { maxLength: 3 })

  it.prop(
    "takes what the careful way takes, with the same result, and leaves the rest to it",
    [matrix, matrix, Arbitrary.schema(Schema.Literals(["tokens", "masks", "advantages", "scores"]))],
    ([first, second, key]) => {
      const json = `{"tokens":${write(second)},"masks":${write(second)},"scores":[${second.map(() => 1).join()}],"${key}":${write(first)}}`
      const careful = Result.flatMap(WireGroup.parse(bytes(json)), ({ value }) => WireGroup.check(value))
      const found = read(json)
      assert.strictEqual(Result.isSuccess(found), Result.isSuccess(careful))
      if (Result.isSuccess(found) && Result.isSuccess(careful)) {
        assert.deepStrictEqual(JSON.parse(text(found.success.json)), careful.success.values)
        assert.strictEqual(found.success.tokens, careful.success.tokens)
      }
    },
    { arbitrary: { runs: 1000 } }
  )
})

describe("WireGroup.readList", () => {
  it("cuts the elements out of the array", () => {
    const list = ` [ ${token("1")} ,${token("2")}] `
    const groups = Result.getOrThrow(WireGroup.readList(bytes(list))).map(({ json }) => JSON.parse(text(json)))
    assert.deepStrictEqual(groups, [
      { ...nulls, ...minimal },
      { ...nulls, ...minimal, tokens: [[2]] }
    ])
    assert.deepStrictEqual(Result.getOrThrow(WireGroup.readList(bytes("[]"))), [])
  })

  it("refuses all for one, with the place of each mistake", () => {
    assert.deepStrictEqual(
      mistakes(WireGroup.readList(bytes(`[${token("1")},1,${token('"x"')}]`))).map(({ loc, type }) => [type, loc]),
      [
        ["model_attributes_type", ["body", 1]],
        ["int_parsing", ["body", 2, "tokens", 0, 0]]
      ]
    )
    assert.deepStrictEqual(
      mistakes(WireGroup.readList(bytes("{}"))).map(({ loc, type }) => [type, loc]),
      [["list_type", ["body"]]]
    )
  })
})

describe("WireGroup.encode", () => {
  it("writes what decode reads", () => {
    const json = {
      tokens: [[1, 2], [3]],
      masks: [[-100, 2], [3]],
      scores: [0.1, -1],
      advantages: [[0.5, 0.25], [1]],
      ref_logprobs: null,
      messages: [[{ role: "user", content: [{ type: "text", text: "é" }] }], []],
      generation_params: { temperature: 0.7 },
      inference_logprobs: [[1, -0.5], [-2]],
      overrides: [{ set_advantage_to_zero: true }, {}],
      group_overrides: { sft: true },
      images: ["data:"],
      env_id: 3,
      distill_token_ids: [[[], [5, 6]], [[7]]],
      distill_logprobs: [[[], [-0.5, -1]], [[-2]]]
    }
    const group = Result.getOrThrow(WireGroup.decode(json))
    assert.deepStrictEqual(JSON.parse(WireGroup.encode(group)), json)
    assert.deepStrictEqual(Result.getOrThrow(WireGroup.decode(JSON.parse(WireGroup.encode(group)))), group)
  })

  it("writes null for what is not given", () => {
    const group = Result.getOrThrow(WireGroup.decode(minimal))
    assert.deepStrictEqual(JSON.parse(WireGroup.encode(group)), { ...nulls, ...minimal })
  })
})
