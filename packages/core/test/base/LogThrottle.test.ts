import { assert, describe, it } from "@effect/vitest"
import * as LogThrottle from "../../src/base/LogThrottle.ts"

describe("LogThrottle", () => {
  it("of the same thing are told the first, second, fourth, eighth, … time", () => {
    const seen = LogThrottle.make()
    const told = Array.from({ length: 20 }, () => seen.count("no answer")).filter(LogThrottle.isWorthLogging)
    assert.deepStrictEqual(told, [1, 2, 4, 8, 16])
    assert.isTrue(LogThrottle.isWorthLogging(seen.count("another")))
  })

  it("are forgotten where everything is different", () => {
    const seen = LogThrottle.make()
    for (let number = 0; number < 5_000; number++) assert.strictEqual(seen.count(String(number)), 1)
  })
})
