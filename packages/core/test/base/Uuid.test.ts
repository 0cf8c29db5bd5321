import { assert, describe, it } from "@effect/vitest"
import * as Uuid from "../../src/base/Uuid.ts"

describe("Uuid", () => {
  it("has the form, version and variant of RFC 9562", () => {
    assert.match(Uuid.v4(), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    assert.match(Uuid.v7(), /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  })

  it("sorts version 7 as they were made, and begins them with the time", () => {
    const before = Date.now()
    const made = Array.from({ length: 20_000 }, Uuid.v7)
    assert.deepStrictEqual(made.toSorted(), made)
    assert.strictEqual(new Set(made).size, made.length)
    const time = Number.parseInt(made[0]!.slice(0, 13).replace("-", ""), 16)
    assert.isAtLeast(time, before)
    // However long the machine pauses here; a clock that is set back does not take the time with it.
    assert.isAtMost(time, Math.max(before, Date.now()) + 10)
  })
})
