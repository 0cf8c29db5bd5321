import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Schedule from "../../src/learn/Schedule.ts"

const Course = Schema.Struct({
  kind: Schema.Literals(Schedule.kinds),
  peak: Schema.Finite.check(Schema.isBetween({ minimum: 1e-7, maximum: 1 })),
  warmupSteps: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 })),
  steps: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 200 })),
  floor: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))
})

const rates = (schedule: Schedule.Schedule) =>
  Array.from({ length: schedule.steps + 10 }, (_, step) => Schedule.learningRate(schedule, step))

describe("Schedule", () => {
  it.prop("rises in equal steps to the peak, and never again", [Course], ([schedule]) => {
    const all = rates(schedule)
    const { peak, warmupSteps } = schedule
    for (let step = 0; step < Math.min(warmupSteps, all.length); step++) {
      assert.closeTo(all[step]!, (peak * (step + 1)) / warmupSteps, 1e-12)
    }
    const after = all.slice(warmupSteps)
    for (let i = 1; i < after.length; i++) assert.isAtMost(after[i]!, after[i - 1]! * (1 + 1e-12))
  })

  it.prop("stays between the floor and the peak, and ends at the floor", [Course], ([schedule]) => {
    const { floor, kind, peak, steps, warmupSteps } = schedule
    const least = kind === "constant" ? peak : peak * floor
    for (const rate of rates(schedule).slice(warmupSteps)) {
      assert.isAtLeast(rate, least * (1 - 1e-12))
      assert.isAtMost(rate, peak * (1 + 1e-12))
    }
    if (steps > warmupSteps) assert.closeTo(Schedule.learningRate(schedule, steps - 1), least, peak * 1e-12)
    assert.closeTo(Schedule.learningRate(schedule, steps + warmupSteps + 5), least, peak * 1e-12)
  })

  it("has known values", () => {
    const course = { peak: 1, warmupSteps: 2, steps: 7, floor: 0.1 }
    const rounded = (kind: Schedule.Schedule["kind"]) =>
      rates({ ...course, kind })
        .slice(0, 8)
        .map((rate) => Math.round(rate * 1e4) / 1e4)
    assert.deepStrictEqual(rounded("constant"), [0.5, 1, 1, 1, 1, 1, 1, 1])
    assert.deepStrictEqual(rounded("linear"), [0.5, 1, 1, 0.775, 0.55, 0.325, 0.1, 0.1])
    assert.deepStrictEqual(rounded("cosine"), [0.5, 1, 1, 0.8682, 0.55, 0.2318, 0.1, 0.1])
  })
})
