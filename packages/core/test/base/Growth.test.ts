import { assert, describe, it } from "@effect/vitest"
import * as Growth from "./Growth.ts"

/** Steps, each of which is done. */
const spend = (steps: number): number => {
  let sum = 0
  for (let step = 0; step < steps; step++) sum = (Math.imul(sum, 31) + step) | 0
  return sum
}

const working = (steps: (size: number) => number) => (size: number) => () => spend(steps(size))

/** Exact times, as of a machine without other load. */
const taking = (millis: (size: number) => number) => (size: number) => Promise.resolve(millis(size))

describe("Growth", () => {
  it("tells linear work from quadratic", async () => {
    assert.isTrue(
      await Growth.isLinearLater(
        2000,
        taking((size) => size)
      )
    )
    assert.isFalse(
      await Growth.isLinearLater(
        2000,
        taking((size) => size ** 2)
      )
    )
  })

  it("measures processor time, whatever else runs", () => {
    // 1 and 256 times the work, far from the limit of 8.
    assert.isTrue(
      Growth.isLinear(
        40,
        working(() => 2e7),
        1
      )
    )
    assert.isFalse(
      Growth.isLinear(
        40,
        working((size) => 8 * size ** 4),
        1
      )
    )
  })
})
