import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Pieces from "../../src/base/Pieces.ts"

function* countTo(most: number, seen: Array<number>): Pieces.Pieces<number> {
  for (let i = 1; i <= most; i++) {
    seen.push(i)
    yield
  }
  return most
}

describe("Pieces", () => {
  it("are the same all at once", () => {
    const seen: Array<number> = []
    assert.strictEqual(Pieces.run(countTo(5, seen)), 5)
    assert.deepStrictEqual(seen, [1, 2, 3, 4, 5])
  })

  it.live("let the event loop turn between two of them", () =>
    Effect.gen(function* () {
      const seen: Array<number> = []
      let turns = 0
      const timer = setImmediate(function turn() {
        turns++
        if (seen.length < 100) setImmediate(turn)
      })
      assert.strictEqual(yield* Pieces.yielding(() => countTo(100, seen)), 100)
      clearImmediate(timer)
      assert.isAtLeast(turns, 50)
    })
  )

  it.effect("run anew each time", () =>
    Effect.gen(function* () {
      const seen: Array<number> = []
      const effect = Pieces.yielding(() => countTo(2, seen))
      yield* effect
      yield* effect
      assert.deepStrictEqual(seen, [1, 2, 1, 2])
    })
  )
})
