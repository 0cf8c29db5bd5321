import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Differences from "../../src/checkpoint/Differences.ts"

describe("Differences.between", () => {
  it("names what differs by its path, with both values", () => {
    const before = { lr: 1e-5, lora: { r: 16, target_modules: ["q_proj"] }, loss: { normalize: true } }
    const after = { lr: null, lora: { r: 16, target_modules: ["q_proj", "v_proj"] }, loss: { advantage_scale: "none" } }
    assert.deepStrictEqual(Differences.between(before, after), [
      "lr: 0.00001, now null",
      'lora.target_modules: ["q_proj"], now ["q_proj","v_proj"]',
      "loss.normalize: true, now absent",
      'loss.advantage_scale: absent, now "none"'
    ])
  })

  it.prop("finds nothing between equal ones", [Schema.Json], ([value]) => {
    assert.deepStrictEqual(Differences.between(value, structuredClone(value)), [])
  })
})
