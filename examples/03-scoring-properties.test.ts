/**
 * A property-based test of a scoring function: the laws that every score keeps, on arbitrary completions.
 *
 * Run it: `npx vitest run examples/03-scoring-properties.test.ts`.
 */
import { assert, describe, it } from "@effect/vitest"
import { Laws, type Trajectory } from "@atropos/core"
import { Effect } from "effect"

/** Share of the words that are in alphabetical order. */
const score = (group: ReadonlyArray<Trajectory.Trajectory>) =>
  Effect.succeed(group.map(({ completion }) => sortedShare(completion.split(" "))))

const sortedShare = (words: ReadonlyArray<string>): number =>
  words.length < 2 ? 1 : words.slice(1).filter((word, index) => word >= words[index]!).length / (words.length - 1)

const unfair = (group: ReadonlyArray<Trajectory.Trajectory>) => Effect.succeed(group.map((_, index) => index))

describe("sorted words", () => {
  it.effect.prop("the order of a group does not matter", [Laws.arbitraryGroup()], ([group]) =>
    Laws.permutation(score, group, Array.from(group.keys()).toReversed())
  )

  it.effect.prop("scores are repeatable and within 0 and 1", [Laws.arbitraryGroup()], ([group]) =>
    Effect.all([Laws.determinism(score, group), Laws.inRange(score, group, [0, 1])])
  )

  it.effect("a sorted line gets the top score, an unsorted one less", () =>
    Laws.goldOnTop(score, ["apple bear cat"], ["cat bear apple", "apple cat bear"], [0, 1])
  )

  it.effect("the laws do catch a score that looks at the place in the group", () =>
    Effect.gen(function* () {
      const group = ["a", "b"].map((completion) => Laws.trajectoryOf(completion))
      const broken = yield* Effect.flip(Laws.permutation(unfair, group, [1, 0]))
      assert.strictEqual(broken.law, "permutation")
    })
  )
})
