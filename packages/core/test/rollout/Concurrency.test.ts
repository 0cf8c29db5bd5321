import { assert, describe, it } from "@effect/vitest"
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
  Concurrency.policyRoom(version, stepsAhead, {
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

  it("the share of a batch: what nobody reserved, and the own reserve, cut off", () => {
    assert.strictEqual(Concurrency.derivedBatchSize(32, 0.3, null), 9)
    assert.strictEqual(Concurrency.derivedBatchSize(32, 0.3, 0.25), 17)
  })

  it("room: batches off policy times the share, less what is queued", () => {
    assert.strictEqual(Concurrency.queueRoom(state), 24)
    assert.strictEqual(Concurrency.queueRoom({ ...state, status: { ...idle, queueSize: 20 } }), 4)
    assert.strictEqual(Concurrency.queueRoom({ ...state, status: { ...idle, queueSize: 30 } }), -6)
    assert.strictEqual(Concurrency.queueRoom({ ...state, status: { ...idle, unallocatedFraction: 0.5 } }), 12)
    assert.strictEqual(Concurrency.queueRoom({ ...state, groupSize: 5 }), 19)
  })

  it("off policy 0: one batch, rounded up", () => {
    assert.strictEqual(Concurrency.queueRoom({ ...state, maxBatchesOffpolicy: 0 }), 8)
    assert.strictEqual(Concurrency.queueRoom({ ...state, maxBatchesOffpolicy: 0, groupSize: 5 }), 7)
    assert.strictEqual(
      Concurrency.queueRoom({ ...state, maxBatchesOffpolicy: 0, status: { ...idle, queueSize: 8 } }),
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
    assert.strictEqual(Concurrency.queueRoom(reserved), 10)
    assert.strictEqual(Concurrency.queueRoom({ ...reserved, minBatchAllocation: null }), -6)
    // Own groups queued: 6 = 3 packs of 8, the reserve is there.
    assert.strictEqual(Concurrency.queueRoom({ ...reserved, status: { ...status, selfQueueSize: 6 } }), 0)
  })

  it("a share by weight: its part of the queue and of a step, whatever the others have queued", () => {
    const status = { queueSize: 100, selfQueueSize: 2, maxGroupSize: 4, unallocatedFraction: 0.5 }
    assert.strictEqual(Concurrency.queueRoom({ ...state, share: 0.25, status }), 4)
    assert.strictEqual(Concurrency.queueRoom({ ...state, share: 0.25, minBatchAllocation: 0.5, status }), 11)
    const step = { batchSize: 32, groupSize: 4, status: { currentStep: 0, queueSize: 100, selfQueueSize: 1 } }
    assert.strictEqual(Concurrency.policyRoom(0, 0, { ...step, share: 0.5 }), 3)
    // Thirds of eight groups are rounded up: together they are a whole batch.
    assert.strictEqual(Concurrency.policyRoom(0, 0, { ...step, share: 1 / 3 }), 2)
  })

  it("the end: no group more than the steps need, as long as the queue is all ours", () => {
    const status = { currentStep: 7, queueSize: 3, selfQueueSize: 3, maxGroupSize: 4 }
    assert.strictEqual(Concurrency.groupsUntilEnd(10, 32, 4, status), 21)
    assert.strictEqual(Concurrency.groupsUntilEnd(7, 32, 4, status), 0)
    assert.strictEqual(Concurrency.groupsUntilEnd(10, 32, 4, { ...status, queueSize: 5 }), Number.POSITIVE_INFINITY)
  })
})
