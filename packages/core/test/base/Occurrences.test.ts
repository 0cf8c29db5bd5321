import { assert, describe, it } from "@effect/vitest"
import * as Occurrences from "../../src/base/Occurrences.ts"

describe("Occurrences", () => {
  it("of the same thing are told the first, second, fourth, eighth, … time", () => {
    const seen = Occurrences.make()
    const told = Array.from({ length: 20 }, () => seen.count("no answer")).filter(Occurrences.isWorthLogging)
    assert.deepStrictEqual(told, [1, 2, 4, 8, 16])
    assert.isTrue(Occurrences.isWorthLogging(seen.count("another")))
  })

  it("are forgotten where everything is different", () => {
    const seen = Occurrences.make()
    for (let number = 0; number < 5_000; number++) assert.strictEqual(seen.count(String(number)), 1)
  })
})
