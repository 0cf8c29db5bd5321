import { assert, describe, it } from "@effect/vitest"
import * as Growth from "./Growth.ts"

/** Steps, each of which is done. */
const spend = (steps: number): number => {
  let sum = 0
  for (let step = 0; step < steps; step++) sum = (sum * 31 + step) % 1_000_003
  return sum
}

describe("Growth", () => {
  it("tells linear work from quadratic, in one turn and in several", async () => {
    assert.isTrue(Growth.isLinear(2000, (size) => () => spend(1000 * size)))
    assert.isFalse(Growth.isLinear(2000, (size) => () => spend(3 * size ** 2)))
    const later = (steps: (size: number) => number) => (size: number) =>
      Promise.resolve(Growth.millisOf(() => spend(steps(size))))
    assert.isTrue(await Growth.isLinearLater(2000, later((size) => 1000 * size)))
    assert.isFalse(await Growth.isLinearLater(2000, later((size) => 3 * size ** 2)))
  })
})
