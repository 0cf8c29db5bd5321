import { assert, describe, it } from "@effect/vitest"
import * as Growth from "./Growth.ts"

/** Steps, each of which is done. */
const spend = (steps: number): number => {
  let sum = 0
  for (let step = 0; step < steps; step++) sum = (Math.imul(sum, 31) + step) | 0
  return sum
}

const linear = (size: number) => 8000 * size
const quadratic = (size: number) => 5 * size ** 2

const working = (steps: (size: number) => number) => (size: number) => () => spend(steps(size))
const measuring = (steps: (size: number) => number) => (size: number) =>
  Promise.resolve(Growth.millisOf(working(steps)(size)))

describe("Growth", () => {
  it("tells linear work from quadratic, in one turn and in several", async () => {
    assert.isTrue(Growth.isLinear(2000, working(linear), 1))
    assert.isFalse(Growth.isLinear(2000, working(quadratic), 1))
    assert.isTrue(await Growth.isLinearLater(2000, measuring(linear), 1))
    assert.isFalse(await Growth.isLinearLater(2000, measuring(quadratic), 1))
  })
})
