import { assert, describe, it } from "@effect/vitest"
import { Environment, type Trajectory } from "@atropos/core"
import { Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Validate from "../../src/validate/Validate.ts"

type Score = (group: ReadonlyArray<Trajectory.Trajectory>, times: number) => ReadonlyArray<number>

/** The laws that are broken for an environment that scores so; the gold answer is "right". */
const violations = (score: Score) => {
  let times = 0
  return Effect.map(
    verdicts(async (group) => score(group, times++)),
    (all) => all.map(({ law }) => law)
  )
}

/** The same with what is said of each, for scores that come later. */
const verdicts = (score: (group: ReadonlyArray<Trajectory.Trajectory>) => Promise<ReadonlyArray<number>>) => {
  const layer = Environment.layer("judged", Environment.settings({}), () =>
    Effect.succeed({
      items: (cursor: number) => Stream.range(cursor, 9),
      collectTrajectories: () => Effect.succeed([]),
      score: (_: number, group: ReadonlyArray<Trajectory.Trajectory>) => Effect.promise(() => score(group)),
      claims: { scoreRange: [0, 1] as const, gold: () => ["right"], wrong: () => ["wrong", ""] }
    })
  )
  return Validate.run({ items: 4, texts: 8, seed: 0 }).pipe(
    Effect.map(({ verdicts }) => verdicts.filter((one) => one.violations > 0)),
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

  it.live("names every item of which nothing can be scored, once, with the reason", () => {
    const layer = Environment.layer("half", Environment.settings({}), () =>
      Effect.succeed({
        items: (cursor: number) => Stream.range(cursor, 9).pipe(Stream.map((number) => number % 4)),
        collectTrajectories: () => Effect.succeed([]),
        score: (item: number, group: ReadonlyArray<Trajectory.Trajectory>) =>
          item % 2 === 1
            ? Effect.fail(new Environment.Unscorable({ message: "its tests are broken" }))
            : Effect.succeed(group.map(right)),
        claims: { scoreRange: [0, 1] as const, gold: () => ["right"], wrong: () => ["wrong"] }
      })
    )
    return Validate.run({ items: 8, texts: 8, seed: 0 }).pipe(
      Effect.map(({ neverScored, unscorable, verdicts }) => {
        assert.deepStrictEqual(neverScored, ["1: its tests are broken", "3: its tests are broken"])
        assert.isAbove(unscorable, 4)
        assert.isTrue(verdicts.every(({ violations }) => violations === 0))
      }),
      Effect.provide(layer(), { local: true })
    )
  })

  it.live("names no items where right and wrong answers are not known, as texts alone cannot be scored there", () => {
    const layer = Environment.layer("played", Environment.settings({}), () =>
      Effect.succeed({
        items: (cursor: number) => Stream.range(cursor, 9),
        collectTrajectories: () => Effect.succeed({ groups: [] }),
        claims: { untestable: "results are only known by playing" }
      })
    )
    return Validate.run({ items: 4, texts: 8, seed: 0 }).pipe(
      Effect.map(({ neverScored, unscorable, untestable }) => {
        assert.deepStrictEqual([neverScored, untestable], [[], "results are only known by playing"])
        assert.isAbove(unscorable, 0)
      }),
      Effect.provide(layer(), { local: true })
    )
  })

  const broken: ReadonlyArray<
    readonly [law: string, score: (group: ReadonlyArray<Trajectory.Trajectory>, times: number) => ReadonlyArray<number>]
  > = [
    ["correct answers get the top score", (group) => group.map((one) => right(one) / 2)],
    ["wrong answers score lower", (group) => group.map(({ completion }) => (completion === "" ? 0 : 1))],
    [
      "permuting a group permutes its scores",
      (group) => group.map((one, index) => (right(one) === 1 ? 1 : index / 10))
    ],
    [
      "the same group gets the same scores",
      (group, times) => group.map((one) => (right(one) === 1 ? 1 : 1 / (2 + times)))
    ],
    ["scores are in the claimed range", (group) => group.map((one) => (right(one) === 1 ? 1 : -1))],
    ["scores are finite", (group) => group.map((one) => (right(one) === 1 ? 1 : Number.NaN))]
  ]
  for (const [law, score] of broken) {
    it.live(`tells that not: ${law}`, () =>
      Effect.gen(function* () {
        assert.include(yield* violations(score), law)
      })
    )
  }

  it.effect("ends at the first score that never comes, and says so", () =>
    Effect.forEach([0, 3], (answered) =>
      Effect.gen(function* () {
        const asked = Promise.withResolvers<void>()
        const running = yield* Effect.forkChild(
          verdicts((group) => {
            if (group.length === answered) return Promise.resolve(group.map(right))
            asked.resolve()
            return new Promise(() => {})
          })
        )
        yield* Effect.promise(() => asked.promise)
        yield* TestClock.adjust("2 minutes")
        assert.deepStrictEqual(
          (yield* Fiber.join(running)).map(({ first, law, violations }) => [law, violations, first]),
          [["scoring never fails, for any text", 1, "0: no score within 2m, so the rest was not checked"]]
        )
      })
    )
  )
})
