import { assert, describe, it } from "@effect/vitest"
import type * as Wire from "../../viewer/src/source/Wire.ts"
import * as RunResult from "../../viewer/src/run/RunResult.ts"

const row = (step: number, reward: number): Wire.MetricsRow => ({
  id: String(step),
  source: "trainer",
  step,
  at: step * 1000,
  values: { "reward/mean": reward }
})

const evaluation = (step: number | null, correct: number, at = step ?? 0) => ({
  name: "doubles",
  step,
  at,
  figures: { "eval/percent_correct": correct }
})

describe("RunResult", () => {
  it("is the mean reward of the last ten steps, and the time of the last", () => {
    const rows = Array.from({ length: 20 }, (_, at) => row(at + 1, at < 10 ? 0 : 1))
    const { heldOut, reward, updatedAt } = RunResult.of([...rows, row(21, 0)], [])
    assert.strictEqual(reward, 0.9)
    assert.strictEqual(updatedAt, 21_000)
    assert.isNull(heldOut)
  })

  it("is the held-out score before and at the latest step, in whatever order evaluations are listed", () => {
    const { heldOut } = RunResult.of([], [evaluation(24, 0.8), evaluation(12, 0.9), evaluation(0, 0.25)])
    assert.deepStrictEqual([heldOut!.first, heldOut!.value, heldOut!.step, heldOut!.best.step], [0.25, 0.8, 24, 12])
  })

  it("is unknown without rows, and evaluations of no step do not count", () => {
    assert.deepStrictEqual(RunResult.of([], [evaluation(null, 0.5)]), RunResult.unknown)
  })
})
