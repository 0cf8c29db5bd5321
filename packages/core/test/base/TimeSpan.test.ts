import { assert, describe, it } from "@effect/vitest"
import * as TimeSpan from "../../src/base/TimeSpan.ts"

describe("TimeSpan", () => {
  it("keeps the second unit, so that 100 seconds are not 2 minutes", () => {
    const written = [0.4, 40, 59.6, 100, 119.7, 900, 3599.7, 5400, 90_061, 172_800, 273_600].map(TimeSpan.format)
    assert.deepStrictEqual(written, [
      "0 s",
      "40 s",
      "1 min",
      "1 min 40 s",
      "2 min",
      "15 min",
      "1 h",
      "1 h 30 min",
      "25 h 1 min",
      "2 days",
      "3 days 4 h"
    ])
  })
})
