import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as JsonBounds from "../../src/base/json/JsonBounds.ts"

const bytes = (text: string) => new TextEncoder().encode(text)
const small: JsonBounds.Bounds = { levels: 3, opened: 4, keys: 3, values: 8, digits: 5 }

describe("JsonBounds", () => {
  it.effect.each([
    ['{"a": 1, "b": 2, "c": 3}', undefined],
    ['{"a": 1, "b": 2, "c": 3, "d": 4}', "has more than 3 keys"],
    ["[[[]]]", undefined],
    ["[[[[]]]]", "is nested more than 3 levels deep"],
    ["[[], [], []]", undefined],
    ["[[], [], [], []]", "has more than 4 lists and maps"],
    ["[1, 2, 3, 4, 5, 6, 7, 8]", undefined],
    ["[1, 2, 3, 4, 5, 6, 7, 8, 9]", "has more than 8 elements of lists and maps"],
    ["[12345, 1.2345e12345, 12345.67890]", undefined],
    ["[1, -123456]", "has a number of more than 5 digits"],
    ["[0.123456", "has a number of more than 5 digits"],
    // Texts cost nothing, whatever they hold.
    ['["{{{{::::,,,,,,,,", "123456789", "\\"[[[[", "\\\\", "\\\\\\"::::"]', undefined],
    ['"no end [[[[', undefined],
    ["[[[[", "is nested more than 3 levels deep"]
  ] as const)("of %s: %s", ([text, found]) =>
    Effect.map(JsonBounds.excess(bytes(text), small), (excess) => assert.strictEqual(excess, found))
  )

  it("are told at the first byte that passes one, whatever comes behind", () => {
    for (const [text, at] of [
      [`[${"0,".repeat(1000)}`, 17],
      ["[".repeat(1000), 4],
      [`{${'"k":0,'.repeat(1000)}`, 23]
    ] as const) {
      const count = JsonBounds.counter(small)
      const json = bytes(text)
      let fed = 0
      while (count(json, fed, fed + 1) === undefined) fed++
      assert.strictEqual(fed + 1, at, text.slice(0, 20))
    }
  })

  it.effect.prop("take any JSON of some hundred values", [Schema.Json], ([value]) =>
    Effect.map(JsonBounds.excess(bytes(JSON.stringify(value))), (excess) => assert.isUndefined(excess))
  )

  it.effect.prop(
    "are the same however a body is cut",
    [Schema.Array(Schema.Literals(["[", "]", "{", "}", ":", ",", '"', "\\", "12", "x"]))],
    ([parts]) =>
      Effect.sync(() => {
        const json = bytes(parts.join(""))
        const whole = JsonBounds.counter(small)(json, 0, json.length)
        const count = JsonBounds.counter(small)
        let found: string | undefined
        for (let at = 0; at < json.length && found === undefined; at++) found = count(json, at, at + 1)
        assert.strictEqual(found, whole)
      })
  )
})
