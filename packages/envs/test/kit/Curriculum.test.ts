import { assert, describe, it } from "@effect/vitest"
import { MemoryTrajectoryClient } from "@atropos/core"
import { Effect, Fiber, Schema, Stream } from "effect"
import { drain, folder, layerParts, numbers, pass, start } from "../../../core/test/rollout/RolloutTest.ts"
import * as Curriculum from "../../src/kit/Curriculum.ts"

const options = { levels: 5, start: 3, window: 20, minimum: 4 }

const after = (averages: ReadonlyArray<number>, from: Curriculum.State = Curriculum.start(options)) =>
  averages.reduce<Curriculum.State>(
    (state, average) => Curriculum.record(state, { level: state.level, average }, options),
    from
  )

/** Groups it takes to rise. */
const climb = (window: number) => {
  let state = Curriculum.start({ levels: 2 })
  let groups = 0
  while (state.level === 1) {
    state = Curriculum.record(state, { level: 1, average: 1 }, { levels: 2, window })
    groups++
  }
  return groups
}

describe("Curriculum", () => {
  it("rises above the upper mean and falls below the lower one, once there are enough groups", () => {
    assert.strictEqual(after([1, 1, 1]).level, 3)
    assert.deepStrictEqual(after([1, 1, 1, 1]), { level: 4, averages: [] })
    assert.deepStrictEqual(after([0, 0, 0, 0]), { level: 2, averages: [] })
    assert.deepStrictEqual(after([0.8, 0.8, 0.8, 0.8]), { level: 3, averages: [0.8, 0.8, 0.8, 0.8] })
    assert.strictEqual(after([0.25, 0.25, 0.25, 0.25]).level, 3)
  })

  it("by default waits for half the window, and for ten groups at least", () => {
    assert.deepStrictEqual([climb(150), climb(12)], [75, 10])
  })

  it("moves in a window that holds fewer groups than that, once it is full", () => {
    assert.deepStrictEqual([climb(5), climb(1)], [5, 1])
    assert.strictEqual(
      Curriculum.record(
        { level: 1, averages: [1, 1] },
        { level: 1, average: 1 },
        { levels: 2, window: 3, minimum: 100 }
      ).level,
      2
    )
  })

  it("forgets what lies behind the window", () => {
    const few = { ...options, window: 4 }
    const tired = [0.3, 0.3, 0.3, 0.3].reduce(
      (state, average) => Curriculum.record(state, { level: 3, average }, few),
      Curriculum.start(few)
    )
    assert.strictEqual(tired.level, 3)
    const rested = [1, 1, 1, 1].reduce((state, average) => Curriculum.record(state, { level: 3, average }, few), tired)
    assert.strictEqual(rested.level, 4)
  })

  it("takes no notice of groups of another level", () => {
    const state = after([1, 1, 1])
    assert.strictEqual(Curriculum.record(state, { level: 2, average: 1 }, options), state)
  })

  it.prop("stays within its levels and its window", [Schema.Array(Schema.Literals([0, 0.5, 1]))], ([averages]) => {
    const state = after([...averages, ...averages, ...averages])
    assert.isTrue(state.level >= 1 && state.level <= 5 && state.averages.length <= 20)
  })

  it.effect("goes on after a restart where it was, and fits a saved level into the levels there are", () =>
    Effect.gen(function* () {
      const before = yield* Curriculum.make(options)
      for (let group = 0; group < 6; group++) {
        yield* before.record({ level: yield* before.level, average: 1 })
      }
      const saved: unknown = JSON.parse(JSON.stringify(yield* before.state.save))
      const restarted = yield* Curriculum.make(options)
      yield* restarted.state.restore(saved)
      assert.deepStrictEqual(yield* restarted.metrics, {
        "curriculum/level": 4,
        "curriculum/groups": 2,
        "curriculum/average": 1
      })
      const smaller = yield* Curriculum.make({ levels: 2 })
      yield* smaller.state.restore(saved)
      assert.deepStrictEqual(yield* smaller.metrics, { "curriculum/level": 2, "curriculum/groups": 0 })
      assert.match(String(yield* Effect.flip(smaller.state.restore({ level: "high" }))), /level/)
    })
  )

  it.effect("a level reached counts from the next item taken on", () =>
    Effect.gen(function* () {
      const curriculum = yield* Curriculum.make({ levels: 3, window: 1, minimum: 1 })
      const items = Stream.range(0, 9).pipe(
        Stream.mapEffect((index) => Effect.map(curriculum.level, (level) => ({ index, level })))
      )
      const levels: Array<number> = []
      yield* Stream.runForEach(items, ({ level }) => {
        levels.push(level)
        return curriculum.record({ level, average: 1 })
      })
      assert.deepStrictEqual(levels, [1, 2, 3, 3, 3, 3, 3, 3, 3, 3])
    })
  )

  it.effect("rises with what its groups come to, and stays where it is over a restart", () =>
    Effect.gen(function* () {
      const client = MemoryTrajectoryClient.make({ batchSize: 4 })
      const spoolDirectory = yield* folder
      const levels: Array<number> = []
      const learning = Effect.gen(function* () {
        const curriculum = yield* Curriculum.make({ levels: 9, window: 2, minimum: 2 })
        return yield* numbers({
          items: (cursor) =>
            Stream.iterate(cursor, (n) => n + 1).pipe(
              Stream.mapEffect((n) => Effect.map(curriculum.level, (level) => 100 * level + (n % 100)))
            ),
          score: (item) => {
            levels.push(Math.floor(item / 100))
            return Effect.succeed([0.9, 1])
          },
          afterScore: (item, { values }) =>
            curriculum.record({ level: Math.floor(item / 100), average: (values[0]! + values[1]!) / 2 }),
          state: curriculum.state,
          metrics: curriculum.metrics,
          settings: { maxNumWorkers: 1, maxBatchesOffpolicy: 2 }
        })
      })
      const first = yield* start(yield* learning, client, { spoolDirectory })
      yield* pass(3)
      yield* Fiber.interrupt(first)
      // An item is made before the one under way is judged.
      assert.deepStrictEqual(levels, [1, 1, 1, 2])
      yield* drain(client)
      const second = yield* start(yield* learning, client, { spoolDirectory })
      yield* pass(3)
      yield* Fiber.interrupt(second)
      assert.deepStrictEqual(levels.slice(4), [2, 2, 3, 3])
    }).pipe(Effect.provide(layerParts))
  )
})
