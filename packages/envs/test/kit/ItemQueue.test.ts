import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Schema, Stream } from "effect"
import * as ItemQueue from "../../src/kit/ItemQueue.ts"

const options = { size: 4, retireFrom: 0.9 }

/** Takes so many items; each is judged at once. */
const play = (take: number, average: (index: number) => number, given: ItemQueue.Options = options) => {
  let state = ItemQueue.start
  const taken: Array<number> = []
  for (let turn = 0; turn < take; turn++) {
    const next = Option.getOrUndefined(ItemQueue.next(state, given))
    if (next === undefined) break
    taken.push(next[0])
    state = ItemQueue.record(next[1], { index: next[0], average: average(next[0]) }, given)
  }
  return { state, taken }
}

describe("ItemQueue", () => {
  it("brings items back until they are solved", () => {
    assert.deepStrictEqual(play(9, (index) => (index % 2 === 0 ? 1 : 0.5)).taken, [0, 1, 2, 3, 1, 3, 1, 3, 1])
  })

  it("ends when all are solved", () => {
    assert.deepStrictEqual(play(100, () => 0.9).taken, [0, 1, 2, 3])
    assert.isTrue(Option.isNone(ItemQueue.next(ItemQueue.start, { ...options, size: 0 })))
  })

  it("starts over when all are solved, where that is asked for", () => {
    const given = { ...options, startsOver: true }
    assert.deepStrictEqual(play(10, () => 0.9, given).taken, [0, 1, 2, 3, 0, 1, 2, 3, 0, 1])
    assert.isTrue(Option.isNone(ItemQueue.next(ItemQueue.start, { ...given, size: 0 })))
  })

  it.effect("gives the same items to whoever begins at the front", () =>
    Effect.gen(function* () {
      const queue = yield* ItemQueue.make(options)
      const front = queue.items(0).pipe(Stream.take(3), Stream.runCollect)
      assert.deepStrictEqual(yield* front, [0, 1, 2])
      assert.deepStrictEqual(yield* front, [0, 1, 2])
    })
  )

  it("gives items up that were tried often enough, where that is asked for", () => {
    const { state, taken } = play(100, (index) => (index === 1 ? 1 : 0), { ...options, maxAttempts: 3 })
    assert.deepStrictEqual(taken, [0, 1, 2, 3, 0, 2, 3, 0, 2, 3])
    assert.deepStrictEqual(ItemQueue.save(state).solved, [1])
    assert.deepStrictEqual(
      ItemQueue.save(state).givenUp.toSorted((a, b) => a - b),
      [0, 2, 3]
    )
    assert.deepStrictEqual(ItemQueue.save(state).attempts, [])
  })

  it("takes no notice of a late group of an item that is retired", () => {
    const { state } = play(1, () => 1)
    assert.strictEqual(ItemQueue.record(state, { index: 0, average: 0 }, options), state)
  })

  it.prop(
    "every round has each item that is left exactly once, and what was saved goes on alike",
    [Schema.Array(Schema.Literals([0, 1])).check(Schema.isMinLength(1))],
    ([solvable]) => {
      const given = { ...options, size: solvable.length }
      const first = play(solvable.length, (index) => solvable[index]!, given)
      assert.deepStrictEqual(first.taken, Array.from(solvable.keys()))
      const loaded = ItemQueue.load(
        Schema.decodeSync(Schema.fromJsonString(ItemQueue.Saved))(JSON.stringify(ItemQueue.save(first.state))),
        given
      )
      const next = (state: ItemQueue.State) => Option.map(ItemQueue.next(state, given), ([index]) => index)
      assert.deepStrictEqual(next(loaded), next(first.state))
      for (const index of solvable.keys()) {
        assert.strictEqual(ItemQueue.isRetired(loaded, index), ItemQueue.isRetired(first.state, index))
      }
    }
  )

  it.effect("takes first what was under way when it was saved", () =>
    Effect.gen(function* () {
      const before = yield* ItemQueue.make(options)
      const taken = yield* before.items(0).pipe(Stream.take(3), Stream.runCollect)
      yield* before.record({ index: 1, average: 1 })
      const saved: unknown = JSON.parse(JSON.stringify(yield* before.state.save))
      const restarted = yield* ItemQueue.make(options)
      yield* restarted.state.restore(saved)
      const rest = yield* restarted.items(3).pipe(Stream.take(3), Stream.runCollect)
      assert.deepStrictEqual(
        [taken, rest],
        [
          [0, 1, 2],
          [0, 2, 3]
        ]
      )
      // Not judged yet, they would come first once more; what an older program saved has none of them.
      const twice = yield* restarted.state.save
      assert.deepInclude(twice, { position: 0, underWay: [0, 2, 3] })
      const { underWay: _, ...older } = twice as typeof ItemQueue.Saved.Type
      yield* restarted.state.restore({ ...older, position: 2 })
      assert.deepStrictEqual(yield* restarted.items(6).pipe(Stream.take(2), Stream.runCollect), [2, 3])
      assert.deepStrictEqual(yield* restarted.metrics, { "queue/solved": 1, "queue/given_up": 0, "queue/left": 3 })
    })
  )

  it.effect("its stream ends once all are retired", () =>
    Effect.gen(function* () {
      const queue = yield* ItemQueue.make({ size: 2, retireFrom: 1 })
      const taken = yield* queue.items(0).pipe(
        Stream.tap((index) => queue.record({ index, average: 1 })),
        Stream.runCollect
      )
      assert.deepStrictEqual(taken, [0, 1])
    })
  )
})
