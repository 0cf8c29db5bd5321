import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Concurrency from "../../src/rollout/Concurrency.ts"

const idle = { queueSize: 0, selfQueueSize: 0, maxGroupSize: 1, unallocatedFraction: 1 }
const state = {
  batchSize: 32,
  groupSize: 4,
  maxBatchesOffpolicy: 3,
  minBatchAllocation: null,
  status: idle
}

const policyRoom = (version: number, stepsAhead: number, currentStep: number, queueSize: number) =>
  Concurrency.policyCapacity(version, stepsAhead, {
    batchSize: 32,
    groupSize: 4,
    status: { currentStep, queueSize, selfQueueSize: queueSize }
  })

describe("Concurrency", () => {
  it("workers: as told, or per node and server; fewer during an evaluation", () => {
    const settings = {
      maxNumWorkers: -1,
      maxNumWorkersPerNode: 8,
      evalHandling: "LIMIT_TRAIN" as const,
      evalLimitRatio: 0.3
    }
    assert.strictEqual(Concurrency.workerLimit(settings, 3, false), 24)
    assert.strictEqual(Concurrency.workerLimit(settings, 3, true), 7)
    assert.strictEqual(Concurrency.workerLimit({ ...settings, evalHandling: "STOP_TRAIN" }, 3, true), 0)
    assert.strictEqual(Concurrency.workerLimit({ ...settings, evalHandling: "NONE" }, 3, true), 24)
    assert.strictEqual(Concurrency.workerLimit({ ...settings, maxNumWorkers: 5 }, 3, false), 5)
  })

  it("one group more where those that are queued, being of odd sizes, may make no batch and nothing else comes", () => {
    const steps = { total: 10, version: 3 }
    const stuck = { ...state, status: { currentStep: 3, queueSize: 8 }, underWay: 0 }
    assert.strictEqual(Concurrency.oddCapacity(steps, stuck), 1)
    assert.strictEqual(Concurrency.oddCapacity(steps, { ...stuck, underWay: 1 }), 0)
    assert.strictEqual(Concurrency.oddCapacity({ ...steps, version: 2 }, stuck), 0)
    assert.strictEqual(Concurrency.oddCapacity({ ...steps, total: 3 }, stuck), 0)
    assert.strictEqual(Concurrency.oddCapacity(steps, { ...stuck, status: { currentStep: 3, queueSize: 0 } }), 0)
    // Three batches of eight, and one more.
    assert.strictEqual(Concurrency.oddCapacity(steps, { ...stuck, status: { currentStep: 3, queueSize: 31 } }), 1)
    assert.strictEqual(Concurrency.oddCapacity(steps, { ...stuck, status: { currentStep: 3, queueSize: 32 } }), 0)
  })

  it("the share of a batch: what nobody reserved, and the own reserve, cut off", () => {
    assert.strictEqual(Concurrency.derivedBatchSize(32, 0.3, null), 9)
    assert.strictEqual(Concurrency.derivedBatchSize(32, 0.3, 0.25), 17)
  })

  it("room: batches off policy times the share, less what is queued", () => {
    assert.strictEqual(Concurrency.queueCapacity(state), 24)
    assert.strictEqual(Concurrency.queueCapacity({ ...state, status: { ...idle, queueSize: 20 } }), 4)
    assert.strictEqual(Concurrency.queueCapacity({ ...state, status: { ...idle, queueSize: 30 } }), -6)
    assert.strictEqual(Concurrency.queueCapacity({ ...state, status: { ...idle, unallocatedFraction: 0.5 } }), 12)
    assert.strictEqual(Concurrency.queueCapacity({ ...state, groupSize: 5 }), 19)
  })

  it("off policy 0: one batch, rounded up", () => {
    assert.strictEqual(Concurrency.queueCapacity({ ...state, maxBatchesOffpolicy: 0 }), 8)
    assert.strictEqual(Concurrency.queueCapacity({ ...state, maxBatchesOffpolicy: 0, groupSize: 5 }), 7)
    assert.strictEqual(
      Concurrency.queueCapacity({ ...state, maxBatchesOffpolicy: 0, status: { ...idle, queueSize: 8 } }),
      0
    )
  })

  it("on policy: what the weights that are there allow, queued and handed-out steps counted", () => {
    assert.strictEqual(policyRoom(0, 0, 0, 0), 8)
    assert.strictEqual(policyRoom(0, 0, 0, 8), 0)
    assert.strictEqual(policyRoom(0, 0, 1, 0), 0)
    assert.strictEqual(policyRoom(1, 0, 1, 0), 8)
    assert.strictEqual(policyRoom(0, 2, 1, 3), 13)
    assert.strictEqual(policyRoom(3, 0, 5, 0), 0)
  })

  it("a reserved share has room although others have filled the queue", () => {
    const status = { queueSize: 24, selfQueueSize: 0, maxGroupSize: 8, unallocatedFraction: 0.75 }
    const reserved = { ...state, minBatchAllocation: 0.25, status }
    // ((ceil(0.25 * 32 * 3 / 8) + 8 / 4) * 8 - 0) / 4 = (3 + 2) * 8 / 4
    assert.strictEqual(Concurrency.queueCapacity(reserved), 10)
    assert.strictEqual(Concurrency.queueCapacity({ ...reserved, minBatchAllocation: null }), -6)
    // Own groups queued: 6 = 3 packs of 8, the reserve is there.
    assert.strictEqual(Concurrency.queueCapacity({ ...reserved, status: { ...status, selfQueueSize: 6 } }), 0)
  })

  it("a share by weight: its part of the queue and of a step, whatever the others have queued", () => {
    const status = { queueSize: 100, selfQueueSize: 2, maxGroupSize: 4, unallocatedFraction: 0.5 }
    assert.strictEqual(Concurrency.queueCapacity({ ...state, share: 0.25, status }), 4)
    assert.strictEqual(Concurrency.queueCapacity({ ...state, share: 0.25, minBatchAllocation: 0.5, status }), 11)
    const step = { batchSize: 32, groupSize: 4, status: { currentStep: 0, queueSize: 100, selfQueueSize: 1 } }
    assert.strictEqual(Concurrency.policyCapacity(0, 0, { ...step, part: { from: 0, to: 0.5, isEven: true } }), 3)
    // Of groups of different sizes each part is rounded up: together they are a batch at least.
    assert.strictEqual(Concurrency.policyCapacity(0, 0, { ...step, part: { from: 0, to: 1 / 3, isEven: false } }), 2)
  })

  it.prop(
    "parts by weight are whole groups that together are the batch of every step, and no more",
    [
      Schema.NonEmptyArray(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 }))),
      Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 500 })),
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 40 }))
    ],
    ([weights, version, groups]) => {
      const sum = weights.reduce((all, weight) => all + weight, 0)
      const status = { currentStep: version, queueSize: 0, selfQueueSize: 0 }
      const parts = Concurrency.partsOf(weights.map((inferenceWeight) => ({ inferenceWeight, groupSize: 4 })))
      let rooms = 0
      for (const [index, weight] of weights.entries()) {
        const part = parts[index]!
        const room = Concurrency.policyCapacity(version, 0, { batchSize: groups * 4, groupSize: 4, part, status })
        assert.isBelow(Math.abs(room - (groups * weight) / sum), 1 + 1e-9)
        rooms += room
      }
      assert.strictEqual(rooms, groups)
    }
  )

  it("parts by weight are their share of many steps, whatever a step can hold of them", () => {
    const status = { currentStep: 0, queueSize: 0, selfQueueSize: 0 }
    for (const [from, to] of [
      [0, 1 / 3],
      [1 / 3, 1],
      [0.25, 0.3]
    ] as const) {
      const rooms = Concurrency.policyCapacity(999, 0, {
        batchSize: 64,
        groupSize: 4,
        part: { from, to, isEven: true },
        status
      })
      assert.closeTo(rooms / 16_000, to - from, 0.001)
    }
  })

  it("the end: no group more than the steps need, as long as the queue is all ours", () => {
    const status = { currentStep: 7, queueSize: 3, selfQueueSize: 3, maxGroupSize: 4 }
    assert.strictEqual(Concurrency.groupsUntilEnd(10, 32, 4, status), 21)
    assert.strictEqual(Concurrency.groupsUntilEnd(7, 32, 4, status), 0)
    assert.strictEqual(Concurrency.groupsUntilEnd(10, 32, 4, { ...status, queueSize: 5 }), Number.POSITIVE_INFINITY)
  })
})
