import { assert, describe, it } from "@effect/vitest"
import type { Environment, Trajectory } from "@atropos/core"
import * as EvaluationRun from "@atropos/core/rollout/EvaluationRun"
import * as Curve from "../../src/up/Curve.ts"
import * as HeldOut from "../../src/up/HeldOut.ts"

const trajectory: Trajectory.Trajectory = {
  messages: [{ role: "assistant", content: "a" }],
  completion: "a",
  finishReason: "stop",
  tokens: Int32Array.of(1),
  mask: Uint8Array.of(1)
}

const evaluated = (...all: ReadonlyArray<Omit<Environment.EvaluatedTrajectory, "trajectory">>) => ({
  items: all.map((one, index) => ({ item: String(index), id: String(index), trajectories: [{ ...one, trajectory }] })),
  failures: [],
  seconds: 1
})

describe("held-out items", () => {
  it("are solved where the environment says what is", () => {
    const all = evaluated({ score: 1, correct: true }, { score: 0.5, correct: false })
    assert.strictEqual(Curve.showSolved(HeldOut.solvedOf(all)), "50.0% (1 of 2)")
    assert.strictEqual(EvaluationRun.metrics(all)["eval/percent_correct"], 0.5)
  })

  it("have the mean of their reward, the total of its components, where it does not", () => {
    const parts = evaluated(
      { score: 1.017, rewards: { correct: 1, brief: 0.017 } },
      { score: 0.017, rewards: { correct: 0, brief: 0.017 } }
    )
    const solved = HeldOut.solvedOf(parts)
    assert.strictEqual(solved.measure, "reward")
    assert.strictEqual(Curve.showSolved(solved), "0.517 (2 items)")
    const scores = HeldOut.solvedOf(evaluated({ score: 0.017 }, { score: 0.019 }))
    assert.strictEqual(scores.measure, "reward")
    assert.strictEqual(Curve.showSolved(scores), "0.018 (2 items)")
    const figures = EvaluationRun.metrics(parts)
    assert.isUndefined(Object.keys(figures).find((name) => /correct_|percent|pass@/.test(name)))
    assert.strictEqual(figures["eval/reward/correct"], 0.5)
    assert.closeTo(figures["eval/mean_score"]!, 0.517, 1e-9)
  })

  it("are said to be sampled as they were", () => {
    const at = (...temperatures: ReadonlyArray<number | undefined>) =>
      HeldOut.sampledOf({
        items: temperatures.map((temperature, index) => {
          const sampling = temperature === undefined ? {} : { sampling: { temperature, topP: 1, topK: 0, minP: 0 } }
          return {
            item: String(index),
            id: String(index),
            trajectories: [{ score: 1, trajectory: { ...trajectory, ...sampling } as Trajectory.Trajectory }]
          }
        })
      })
    assert.strictEqual(at(0, 0), "greedy")
    assert.strictEqual(at(0.6, 0.6), "temperature 0.6")
    for (const unknown of [at(), at(undefined, undefined), at(0, 1), at(undefined, 0)]) assert.isUndefined(unknown)
  })
})
