import { SeededRandom, ToolCalls } from "@atropos/core"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as PartialCredit from "../../src/tools/PartialCredit.ts"
import * as Requests from "../../src/tools/Requests.ts"

const call = (name: string, args: unknown): ToolCalls.Call => ({ name, arguments: args })
const rain = call("get_weather", { city: "Oslo", days_ahead: 1 })
const tea = call("set_timer", { minutes: 4, label: "tea" })
const { nearness } = PartialCredit

describe("PartialCredit", () => {
  it("grows with the form, the name and each right argument", () => {
    assert.strictEqual(nearness([rain], []), 0)
    assert.strictEqual(nearness([rain], [tea]), 0.2)
    assert.strictEqual(nearness([rain], [call("get_weather", {})]), 0.5)
    assert.strictEqual(nearness([rain], [call("get_weather", { city: "Oslo", days_ahead: 2 })]), 0.75)
    assert.strictEqual(nearness([rain], [rain]), 1)
    assert.strictEqual(nearness([call("now", {})], [call("now", {})]), 1)
    assert.strictEqual(nearness([call("say", "hi")], [call("say", "ho")]), 0.5)
  })

  it("is shared among all calls that are expected or made, in any order", () => {
    assert.strictEqual(nearness([rain, tea], [tea]), 0.5)
    assert.strictEqual(nearness([rain], [rain, rain]), 0.5)
    assert.strictEqual(nearness([rain, tea], [tea, rain]), 1)
    assert.strictEqual(nearness([rain, rain], [rain, call("get_weather", { city: "Oslo" })]), 0.875)
  })

  it.prop(
    "is 1 for what is right alone, and less for one call more or less",
    [Schema.Natural, Schema.Natural],
    ([seed, other]) => {
      const { expected } = Requests.draw(SeededRandom.seeded(seed, 0), 3)
      const drawn = Requests.draw(SeededRandom.seeded(other, 1), 3).expected
      assert.strictEqual(nearness(expected, drawn) === 1, ToolCalls.matchOneToOne(expected, drawn))
      assert.strictEqual(nearness(expected, expected.toReversed()), 1)
      assert.isBelow(nearness(expected, [...expected, expected[0]!]), 1)
      assert.isBelow(nearness(expected, expected.slice(1)), 1)
    }
  )

  it("is added to wrong answers alone, and only if its weight is not 0", () => {
    const near = (correct: number, weight: number) =>
      PartialCredit.add({ correct, length: 0 }, [rain], () => [tea], weight)
    assert.deepStrictEqual(near(0, 0.8), { correct: 0, length: 0, near: 0.2 })
    assert.deepStrictEqual(near(1, 0.8), { correct: 1, length: 0 })
    assert.deepStrictEqual(near(0, 0), { correct: 0, length: 0 })
  })
})
