import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as ExactJson from "../../src/base/json/ExactJson.ts"

const json = Schema.Json

const bare = (one: unknown): unknown => JSON.parse(ExactJson.write(one) ?? "null")

describe("ExactJson", () => {
  it("reads integers exactly and fractions as doubles", () => {
    assert.deepStrictEqual(
      ExactJson.parse(
        '[2432902008176640001, -9007199254740993, 9007199254740991, 1.5, 1e400, 18446744073709551616, "12345678901234567890"]'
      ),
      [
        2432902008176640001n,
        -9007199254740993n,
        9007199254740991,
        1.5,
        Infinity,
        18446744073709551616n,
        "12345678901234567890"
      ]
    )
  })

  it("keeps the order of keys that are digits, through copies and in what it writes", () => {
    const tools = '{"tools":[{"properties":{"b":1.0,"10":{"z":1,"2":2},"a":[{"x":1,"0":9007199254740993}]}}],"n":1}'
    assert.strictEqual(ExactJson.write(ExactJson.parseRequest(tools)), tools)
    assert.strictEqual(ExactJson.write(ExactJson.parseWritten(tools)), tools)
    const sent = ExactJson.sendable(ExactJson.plain(ExactJson.parseWritten(tools)))
    assert.strictEqual(ExactJson.write(sent), tools.replace("1.0", "1"))
    assert.strictEqual(ExactJson.write(ExactJson.parseWritten('{"a":1,"1":2,"a":3}')), '{"1":2,"a":3}')
  })

  const written = [
    "2432902008176640001",
    "1.0",
    "1.50",
    "1e5",
    "1E-3",
    "-0",
    "0.10000000000000000555",
    "1e400",
    "0.0000001"
  ]
  it.each(written)("keeps how %s is written", (text) => {
    const value = ExactJson.parseWritten(`{"a":[${text}]}`)
    assert.strictEqual(ExactJson.write(value), `{"a":[${text}]}`)
    assert.strictEqual(JSON.stringify(value), `{"a":[${text}]}`)
    assert.deepStrictEqual(ExactJson.plain(value), ExactJson.parse(`{"a":[${text}]}`))
  })

  it("makes a bigint of every integer beyond 2^53, also of one that a double holds", () => {
    const ids = "[9007199254740991,9007199254740992,1234567890123456800,-1234567890123456800]"
    const read = [9007199254740991, 9007199254740992n, 1234567890123456800n, -1234567890123456800n]
    assert.deepStrictEqual(ExactJson.plain(ExactJson.parseWritten(ids)), read)
    assert.deepStrictEqual(ExactJson.parse(ids), read)
    assert.strictEqual(ExactJson.plain(ExactJson.decimal("1234567890123456800")), 1234567890123456800n)
  })

  it("writes integers of any length", () => {
    assert.strictEqual(ExactJson.write({ id: 2512292042121000001n }), '{"id":2512292042121000001}')
    assert.strictEqual(
      JSON.stringify(ExactJson.sendable([{ id: 2512292042121000001n }])),
      '[{"id":2512292042121000001}]'
    )
  })

  it("throws where JSON.parse does", () => {
    for (const text of ["", "{", "01", "1234567890123456789x", "[1.0,]", "1.50]"]) {
      assert.throws(() => ExactJson.parse(text), SyntaxError)
      assert.throws(() => ExactJson.parseWritten(text), SyntaxError)
    }
  })

  it("compares numbers by what is written", () => {
    for (const [a, b] of [
      ["1.0", "1"],
      ["1e2", "100.00"],
      ["-0.0", "0"],
      ["0.100", "1e-1"],
      ["0.100000000000000010", "10000000000000001e-17"],
      ["1e400", "10e399"],
      ["1234567890123456789", "1234567890123456789.0"],
      ["1234567890123456789", "1.234567890123456789e18"],
      ["10000000000000000000", "1e19"],
      ["-9007199254740993", "-9007199254740993.00"],
      [`1${"0".repeat(2000)}`, "1e2000"]
    ] as const) {
      assert.deepStrictEqual(ExactJson.parseExact(a), ExactJson.parseExact(b), `${a} ${b}`)
    }
    for (const [a, b] of [
      ["0.1", "0.10000000000000001"],
      ["9007199254740992", "9007199254740993"],
      ["1e400", "1e401"],
      ["-1.5", "1.5"],
      ["5e-324", "0"],
      ["1e-400", "0"]
    ] as const) {
      assert.notDeepEqual(ExactJson.parseExact(a), ExactJson.parseExact(b), `${a} ${b}`)
    }
  })

  it("gives requests doubles, and tools, schemas and arguments as they are written", () => {
    const tools = '[{"parameters":{"maximum":9007199254740993,"default":1.0}}]'
    const body = ExactJson.parseRequest(
      `{"temperature":1.0,"seed":1e3,"tools":${tools},"messages":[{"input":{"id":2512292042121000001}}],"input":[{"top_p":1.0}]}`
    ) as Readonly<Record<string, unknown>>
    assert.deepInclude(body, { temperature: 1, seed: 1000, input: [{ top_p: 1 }] })
    assert.strictEqual(JSON.stringify(body["tools"]), tools)
    assert.strictEqual(JSON.stringify(body["messages"]), '[{"input":{"id":2512292042121000001}}]')
  })

  it.prop("reads what JSON.stringify writes as JSON.parse does", [json], ([value]) => {
    const text = JSON.stringify(value)
    assert.deepStrictEqual(bare(ExactJson.parse(text)), JSON.parse(text))
    assert.deepStrictEqual(bare(ExactJson.parseWritten(text)), JSON.parse(text))
  })
})
