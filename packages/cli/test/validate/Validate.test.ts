import { assert, describe, it } from "@effect/vitest"
import { Environment, type Trajectory } from "@atropos/core"
import { Effect, Stream } from "effect"
import * as Validate from "../../src/validate/Validate.ts"

/** What each law comes to for an environment that scores so; the gold answer is "right". */
const violations = (score: (group: ReadonlyArray<Trajectory.Trajectory>, times: number) => ReadonlyArray<number>) => {
  let times = 0
  const layer = Environment.layer("judged", Environment.settings({}), () =>
    Effect.succeed({
      items: (cursor: number) => Stream.range(cursor, 9),
      collectTrajectories: () => Effect.succeed([]),
      score: (_: number, group: ReadonlyArray<Trajectory.Trajectory>) => Effect.sync(() => score(group, times++)),
      claims: { scoreRange: [0, 1] as const, gold: () => ["right"], wrong: () => ["wrong", ""] }
    })
  )
  return Validate.run({ items: 4, texts: 8, seed: 0 }).pipe(
    Effect.map(({ verdicts }) => verdicts.filter((one) => one.violations > 0).map(({ law }) => law)),
    Effect.provide(layer(), { local: true })
  )
}

const right = ({ completion }: Trajectory.Trajectory): number => (completion === "right" ? 1 : 0)

describe("validate", () => {
  it.live("finds nothing where there is nothing, though each group is scored once for several laws", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* violations((group) => group.map(right)), [])
    })
  )

  const broken: ReadonlyArray<
    readonly [law: string, score: (group: ReadonlyArray<Trajectory.Trajectory>, times: number) => ReadonlyArray<number>]
  > = [
    ["a correct answer gets the top score", (group) => group.map((one) => right(one) / 2)],
    ["a wrong answer scores lower", (group) => group.map(({ completion }) => (completion === "" ? 0 : 1))],
    [
      "permuting a group permutes its scores",
      (group) => group.map((one, index) => (right(one) === 1 ? 1 : index / 10))
    ],
    [
      "the same group gets the same scores",
      (group, times) => group.map((one) => (right(one) === 1 ? 1 : 1 / (2 + times)))
    ],
    ["scores are in the range", (group) => group.map((one) => (right(one) === 1 ? 1 : -1))],
    ["scores are finite", (group) => group.map((one) => (right(one) === 1 ? 1 : Number.NaN))]
  ]
  for (const [law, score] of broken) {
    it.live(`tells that not: ${law}`, () =>
      Effect.gen(function* () {
        assert.include(yield* violations(score), law)
      })
    )
  }
})
