/** Which runs of `up` go on, across versions. */
import * as Differences from "@atropos/trainer/checkpoint/Differences"
import * as TrainerSettings from "@atropos/trainer/run/TrainerSettings"
import { assert, describe, it } from "@effect/vitest"
import { Schema, Struct } from "effect"
import * as Identity from "../../src/up/Identity.ts"

const { lora, loss, trainer } = TrainerSettings.complete({ trainer: { batchSize: 128, lr: 1e-3 }, lora: { r: 8 } })
const today = {
  environment: "sort-letters",
  env: { group_size: 8 },
  trainer: Struct.omit(trainer, TrainerSettings.ofRunning),
  lora,
  loss,
  stepsAhead: 0,
  sampling: { speculativeTokens: 0, weightUpdates: "pinned" },
  warmStart: null
}
const changes = (written: unknown) => Differences.between(Identity.ofToday(written), today)
const changed = new Set(["batchSize", "lr", "r"])
const unchanged = (settings: object) =>
  Schema.Array(Schema.Literals(Object.keys(settings).filter((key) => !changed.has(key))))

/** What a version wrote that knew fewer settings. */
const without = (settings: object, names: ReadonlyArray<string>) =>
  Object.fromEntries(Object.entries(settings).filter(([name]) => !names.includes(name)))

describe("the identity of a run of up", () => {
  it.prop(
    "is that of a version that did not know some settings yet, where they are at their defaults",
    [unchanged(today.trainer), unchanged(lora), unchanged(loss)],
    ([ofTrainer, ofLora, ofLoss]) => {
      const written = {
        ...today,
        trainer: without(today.trainer, ofTrainer),
        lora: without(lora, ofLora),
        loss: without(loss, ofLoss)
      }
      assert.deepStrictEqual(changes(written), [])
    }
  )

  it("is that of a version that told runs apart by how far, where and for whom they run", () => {
    assert.deepStrictEqual(changes({ ...today, trainer: { ...trainer, checkpointInterval: 50, weightSync: [] } }), [])
  })

  it("is that of a version that could not be told how to sample, where it samples as ever", () => {
    assert.deepStrictEqual(changes(without(today, ["sampling"])), [])
    assert.isNotEmpty(changes({ ...today, sampling: { speculativeTokens: 2, weightUpdates: "pinned" } }))
  })

  it("differs by what decides what is learned", () => {
    assert.deepStrictEqual(
      changes({ ...today, trainer: { ...today.trainer, seed: 1, quantize: "int8" } }),
      ['quantize: "int8", now "none"', "seed: 1, now 0"].map((line) => `trainer.${line}`)
    )
    assert.deepStrictEqual(changes({ ...today, trainer: without(today.trainer, ["lr"]) }), [
      "trainer.lr: null, now 0.001"
    ])
    assert.isNotEmpty(changes("not an identity"))
    assert.isNotEmpty(changes({ ...today, trainer: null, lora: 3 }))
  })
})
