import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Readings from "../../src/service/Readings.ts"

const through = (values: Readings.Values): Readings.Values =>
  Readings.decode(JSON.parse(JSON.stringify(Readings.encode(values)))).values

describe("Readings", () => {
  it.prop(
    "come through JSON as they were, NaN and the infinities too",
    [Schema.Record(Schema.String, Schema.Number)],
    ([values]) => {
      const read = through(values)
      assert.deepStrictEqual(Object.keys(read), Object.keys(values))
      // JSON has no -0.
      for (const [name, value] of Object.entries(values))
        assert.isTrue(Object.is(read[name], value) || value === 0, name)
    }
  )

  it("take each value for itself: what is no figure is told, the others are kept", () => {
    const { leftOut, values } = Readings.decode({
      good: 1,
      nan: "NaN",
      up: "Infinity",
      down: "-Infinity",
      lost: null,
      word: "low",
      list: [1],
      yes: true,
      ["x".repeat(300)]: 1
    })
    assert.deepStrictEqual(values, {
      good: 1,
      nan: Number.NaN,
      up: Number.POSITIVE_INFINITY,
      down: Number.NEGATIVE_INFINITY,
      lost: Number.NaN
    })
    assert.deepStrictEqual(Object.keys(leftOut), ["word", "list", "yes", `${"x".repeat(40)}…`])
    assert.include(leftOut["word"], 'got "low"')
    assert.include(leftOut["list"], "got an array")
  })
})
