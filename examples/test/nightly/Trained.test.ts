/** The examples that train until the task is learned. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestConsole } from "effect/testing"
import * as TheWholeLoop from "../../00-the-whole-loop.ts"
import * as TrainYourOwn from "../../06-train-your-own.ts"
import * as Mix from "../../15-mix.ts"
import { printed } from "../Printed.ts"

const shown = <E>(program: Effect.Effect<unknown, E>) => printed(program).pipe(Effect.provide(TestConsole.layer))

describe("examples", () => {
  it.live("00: raises the reward", () =>
    Effect.gen(function* () {
      const lines = yield* shown(TheWholeLoop.program)
      const rewards = lines.map((line) => Number(/^step \d+: reward (\d\.\d\d)$/.exec(line)?.[1]))
      assert.strictEqual(rewards.length, 6)
      assert.isBelow(rewards[0]!, 0.15)
      assert.isAbove(rewards[2]!, rewards[0]! + 0.2)
      assert.isAbove(rewards[5]!, 0.85)
    })
  )

  it.live("06: learns its environment", () =>
    Effect.gen(function* () {
      const lines = yield* shown(TrainYourOwn.program)
      const rewards = lines.map((line) => Number(/^step \d+: reward (\d\.\d\d)$/.exec(line)?.[1]))
      assert.strictEqual(rewards.length, 5)
      assert.isBelow(rewards[0]!, 0.2)
      assert.isAbove(rewards[4]!, 0.8)
    })
  )

  it.live("15: three environments fill the batches by their weights, and all three are learned", () =>
    Effect.gen(function* () {
      const { first, last, shares } = yield* Mix.mix
      assert.strictEqual(shares.size, 3)
      for (const [name, share] of shares) assert.approximately(share, name.startsWith("same") ? 0.5 : 0.25, 0.02, name)
      assert.isBelow(first, 0.4)
      assert.isAbove(last, 0.9)
    })
  )
})
