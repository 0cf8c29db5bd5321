import { assert, describe, it } from "@effect/vitest"
import { Environment, ServerManager, type Trajectory } from "@atropos/core"
import { Effect, Stream } from "effect"
import * as Tally from "../../src/job/Tally.ts"
import * as Rolls from "../../src/process/Rolls.ts"

const sequence: Trajectory.Trajectory = {
  messages: [{ role: "assistant", content: "a" }],
  completion: "a",
  finishReason: "stop",
  tokens: Int32Array.of(1, 2),
  mask: Uint8Array.of(0, 1)
}

/** Two runs: a solved one of three sequences, and one that is not, of one. */
const scores = [
  { rewards: { correct: 1 }, overrides: { session: 0 } },
  { rewards: { correct: 1 }, overrides: { session: 0 } },
  { rewards: { correct: 1 }, overrides: { session: 0, finish_reason: "length" } },
  { rewards: { correct: 0 }, overrides: { session: 1 } }
]

const tallyOf = (scoreRange?: readonly [number, number]) =>
  Effect.gen(function* () {
    const { work } = yield* Environment.Environment
    const roll = yield* Rolls.make
    const [first] = yield* Stream.runCollect(Stream.take(work(0), 1))
    return (yield* roll(first!)).tally
  }).pipe(
    Effect.provide(
      Environment.layer("sub-agents", Environment.settings({}), () =>
        Effect.succeed({
          items: () => Stream.make("a"),
          collectTrajectories: () =>
            Effect.succeed({
              groups: [{ trajectories: scores.map(() => sequence), scores, groupOverrides: { group_size: 4 } }]
            }),
          claims: { untestable: "runs of an agent", ...(scoreRange && { scoreRange }) }
        })
      )({ groupSize: 2, includeMessages: true }),
      { local: true }
    ),
    Effect.provide(ServerManager.layerScripted([]))
  )

describe("rollouts that are several sequences", () => {
  it.effect("count once in scores, components, passes and pass@k, and with all their tokens", () =>
    Effect.gen(function* () {
      const tally = yield* tallyOf([0, 1])
      assert.deepStrictEqual(tally.passes, { "2:1": 1 })
      assert.strictEqual(Tally.meanScore(tally)?.value, 0.5)
      assert.deepStrictEqual(Tally.meanRewards(tally), [["correct", 0.5]])
      assert.deepStrictEqual(
        Tally.passAtK(tally).map(([k, { value }]) => [k, value]),
        [
          [1, 0.5],
          [2, 1]
        ]
      )
      assert.deepStrictEqual([tally.trainedTokens, tally.tokens], [4, 8])
      assert.deepStrictEqual(
        [tally.truncated, tally.identical],
        [
          [1, 2],
          [0, 1]
        ]
      )
    })
  )

  it.effect("pass or fail where it is claimed what passes, and nowhere else", () =>
    Effect.gen(function* () {
      const tally = yield* tallyOf()
      assert.deepStrictEqual(tally.passes, {})
      assert.isUndefined(Tally.passRate(tally))
      assert.strictEqual(Tally.meanScore(tally)?.value, 0.5)
    })
  )
})
