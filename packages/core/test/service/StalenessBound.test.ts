import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as StalenessBound from "../../src/service/StalenessBound.ts"

const roller = (more: Partial<StalenessBound.Roller> = {}): StalenessBound.Roller => ({
  groupSize: 4,
  underWay: 0,
  weight: 1,
  maxTokenLength: 100,
  minBatchAllocation: null,
  ...more
})

const run = (more: Partial<StalenessBound.BoundedRun> = {}): StalenessBound.BoundedRun => ({
  maxStaleness: 0,
  batchSize: 16,
  untrained: 0,
  queued: [],
  ...more
})

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

/** Environments, a service and a trainer as a sequence of moves; a group is the version that sampled it. */
const simulate = (
  {
    groups,
    maxStaleness,
    moves,
    rollers
  }: Record<"groups" | "maxStaleness" | "rollers", number> & {
    readonly moves: ReadonlyArray<number>
  },
  finishing: "any" | "oldest"
) => {
  const sizes = { groupSize: 4, batchSize: 4 * groups }
  const underWay = Array.from({ length: rollers }, (): Array<number> => [])
  const stale: Array<number> = []
  let queue: Array<{ readonly by: number; readonly version: number }> = []
  let [isTraining, version] = [false, 0]
  /** Places of all under way, in the order in which they began. */
  const order: Array<{ readonly by: number; readonly version: number }> = []

  const begin = (by: number, more: number) => {
    const state = run({
      ...sizes,
      maxStaleness,
      untrained: isTraining ? 1 : 0,
      // As the service counts them: for each environment by itself.
      queued: underWay.map((_, at) => ({ sequences: 4, groups: queue.filter(({ by }) => by === at).length }))
    })
    const all = underWay.map((own) => roller({ underWay: own.length }))
    const granted = StalenessBound.granted(
      state,
      all[by]!,
      all.filter((_, at) => at !== by),
      more
    )
    for (let i = 0; i < granted; i++) {
      underWay[by]!.push(version)
      order.push({ by, version })
    }
  }
  const finish = (choice: number) => {
    const at = finishing === "oldest" ? 0 : choice % Math.max(1, order.length)
    const [done] = order.splice(at, 1)
    if (done === undefined) return
    underWay[done.by]!.splice(underWay[done.by]!.indexOf(done.version), 1)
    queue.push(done)
  }
  for (const move of moves) {
    const choice = Math.floor(move / 4)
    if (move % 4 === 0) begin(choice % rollers, 1 + (choice % 7))
    if (move % 4 === 1) finish(choice)
    if (move % 4 === 2 && !isTraining && queue.length >= groups) {
      isTraining = true
      stale.push(...queue.slice(0, groups).map((sampled) => version - sampled.version))
      queue = queue.slice(groups)
    }
    if (move % 4 === 3 && isTraining) {
      isTraining = false
      version++
    }
  }
  return stale
}

const Moves = Schema.Array(between(0, 4 * 420 - 1)).check(Schema.isMinLength(60), Schema.isMaxLength(400))

describe("StalenessBound", () => {
  it.prop(
    "at 0 nothing is staler, whoever rolls out and in whatever order rollouts end",
    [between(1, 6), between(1, 3), Moves],
    ([groups, rollers, moves]) => {
      const stale = simulate({ groups, maxStaleness: 0, moves, rollers }, "any")
      assert.isTrue(stale.every((one) => one === 0))
    }
  )

  it.prop(
    "where rollouts end in the order in which they begin, nothing is staler than the bound",
    [between(0, 3), between(1, 6), between(1, 3), Moves],
    ([maxStaleness, groups, rollers, moves]) => {
      const stale = simulate({ groups, maxStaleness, moves, rollers }, "oldest")
      assert.isTrue(stale.every((one) => one <= maxStaleness))
    }
  )

  it("gives leave for so many batches as may be ahead, those in training counted", () => {
    const granted = (more: Partial<StalenessBound.BoundedRun>) => StalenessBound.granted(run(more), roller(), [], 100)
    assert.strictEqual(granted({}), 4)
    assert.strictEqual(granted({ maxStaleness: 1 }), 8)
    assert.strictEqual(granted({ maxStaleness: 1, untrained: 1 }), 4)
    assert.strictEqual(granted({ untrained: 1 }), 0)
    assert.strictEqual(granted({ untrained: 3 }), 0)
    assert.strictEqual(granted({ queued: [{ sequences: 4, groups: 3 }] }), 1)
  })

  it("shares it by weight among those that roll out, and gives what nobody else has begun to whoever asks", () => {
    const heavy = roller({ weight: 3 })
    assert.strictEqual(StalenessBound.granted(run(), roller(), [heavy], 100), 1)
    assert.strictEqual(StalenessBound.granted(run(), heavy, [roller()], 100), 3)
    assert.strictEqual(StalenessBound.granted(run(), roller({ minBatchAllocation: 0.5 }), [heavy], 100), 2)
    // The other has nothing under way, and what is queued is more than one's share.
    const queued = [{ sequences: 4, groups: 3 }]
    assert.strictEqual(StalenessBound.granted(run({ queued }), roller(), [heavy], 100), 1)
    // Without a weight beside others, or none has one.
    assert.strictEqual(StalenessBound.granted(run(), roller({ weight: 0 }), [heavy], 100), 1)
    assert.strictEqual(StalenessBound.granted(run(), roller({ weight: 0 }), [roller({ weight: 0 })], 100), 2)
  })

  it("lets one more begin where groups of odd sizes make no batch and nothing else is to come", () => {
    const odd = [
      { sequences: 4, groups: 3 },
      { sequences: 3, groups: 2 }
    ]
    assert.strictEqual(StalenessBound.granted(run({ queued: odd }), roller(), [], 100), 1)
    assert.strictEqual(StalenessBound.granted(run({ queued: odd }), roller(), [roller({ underWay: 1 })], 100), 0)
    assert.strictEqual(StalenessBound.granted(run({ queued: odd, untrained: 1 }), roller(), [], 100), 0)
    assert.strictEqual(StalenessBound.granted(run({ queued: odd }), roller(), [], 0), 0)
    // Of two environments.
    const whole = [
      { sequences: 4, groups: 3 },
      { sequences: 4, groups: 1 }
    ]
    assert.strictEqual(StalenessBound.granted(run({ queued: whole }), roller(), [], 100), 0)
    const far = [...odd, { sequences: 2, groups: 7 }]
    assert.strictEqual(StalenessBound.granted(run({ queued: far }), roller(), [], 100), 0)
  })
})
