/** What `up` says of a run before it and after it: the plan, and the means of its rewards. */
import * as TrainerSettings from "@atropos/trainer/run/TrainerSettings"
import * as TinyModel from "@atropos/trainer/model/TinyModel"
import { assert, describe, it } from "@effect/vitest"
import * as Plan from "../../src/up/Plan.ts"

describe("the plan of up", () => {
  it("speaks of held-out items only where there are some", () => {
    const { trainer } = TrainerSettings.complete({})
    const told = (hasHeldOut: boolean) =>
      Plan.describe({
        model: TinyModel.make({ characters: "ab", seed: 0 }),
        trainer,
        workload: { batchSize: 8, steps: 3, seqLen: 64, maxTokenLength: 32 },
        speed: { sampling: 100, training: 100 },
        memory: { now: 1e9, later: [2e9, 3e9] },
        hasHeldOut
      })
        .flat()
        .join("\n")
    assert.include(told(true), ", and the held-out items before and after")
    assert.notInclude(told(false), "held-out")
    assert.include(told(false), "2.0 GB to 3.0 GB in a step")
  })
})
