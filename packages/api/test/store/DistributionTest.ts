/** Tests the distributions of scores, advantages and lengths over a run's steps, and the groups of each bin. */
import { assert } from "@effect/vitest"
import { type TrajectoryApi } from "@atropos/core"
import * as ScoreAdvantage from "@atropos/core/reward/ScoreAdvantage"
import { Effect, Option } from "effect"
import * as SampleGroups from "../SampleGroups.ts"
import { chats, chatSubmission, indexed } from "./ChatGroups.ts"
import { environment, runName, spec, started, trainer, type StoreTests } from "./StoreValues.ts"

const countOf = ({ columns }: TrajectoryApi.Distribution) =>
  columns.map(({ counts, from, to }) => ({ from, to, count: counts.reduce((all, count) => all + count, 0) }))

const sum = (values: ReadonlyArray<number>) => values.reduce((all, value) => all + value, 0)

const histogram = (values: ReadonlyArray<number>, { bins, high, low }: TrajectoryApi.Distribution) => {
  const counts = Array<number>(bins).fill(0)
  for (const value of values) counts[Math.min(bins - 1, Math.floor(((value - low) / (high - low)) * bins))]!++
  return counts
}

export const distributions = (it: StoreTests): void => {
  it.effect("counts scores, advantages and lengths by step, as the run's trainer makes advantages", () =>
    Effect.gen(function* () {
      const { reader, store } = yield* started(1)
      const scoresOf = [
        [0, 1, 1, 4],
        [0.1, 0.1, 0.1 + 1e-9, 0.1],
        [-2, 3, 0.5, 0.5],
        [7, 7, 7, 0.25]
      ]
      for (const rule of [
        { baseline: "group", advantageScale: "population-std" },
        { baseline: "group", advantageScale: "sample-std" },
        { baseline: "leave-one-out", advantageScale: "none" },
        { baseline: "none", advantageScale: "none" }
      ] as const) {
        const run = runName()
        yield* store.registerRun({ ...spec(run, 16), advantages: { loss: "x", isUsed: true, ...rule } })
        yield* store.start(run)
        assert.isNull(yield* reader.distribution(run, { measure: "score" }))
        yield* store.registerEnvironment(run, environment("x", { groupSize: 4 }))
        for (const scores of scoresOf) {
          const group = { ...chats("Why?", ...scores.map(String)), scores: Float64Array.from(scores) }
          yield* store.submit(run, [chatSubmission(group, { envId: 0 })])
        }
        assert.isNull(yield* reader.distribution(run, { measure: "score" }))
        assert.isTrue(Option.isSome(yield* store.claim(run, trainer)))
        yield* indexed(run)
        const scores = (yield* reader.distribution(run, { measure: "score" }))!
        assert.deepStrictEqual([scores.low, scores.high, scores.groups], [-2, 7, 4])
        assert.deepStrictEqual(countOf(scores), [{ from: 4, to: 4, count: 16 }])
        assert.deepStrictEqual(scores.columns[0]!.counts, histogram(scoresOf.flat(), scores))

        const expected = scoresOf.flatMap((scores) => [...ScoreAdvantage.ofScores(scores, rule)])
        const advantages = (yield* reader.distribution(run, { measure: "advantage", environment: "x_0" }))!
        assert.closeTo(advantages.low, Math.min(...expected), 1e-9, JSON.stringify(rule))
        assert.closeTo(advantages.high, Math.max(...expected), 1e-9, JSON.stringify(rule))
        assert.deepStrictEqual(countOf(advantages), [{ from: 4, to: 4, count: 16 }])
        assert.strictEqual(
          sum(advantages.columns[0]!.counts.slice(12)),
          expected.filter((value) => value >= (advantages.low + advantages.high) / 2).length
        )
        // A bin contains exactly the groups found by its bounds.
        for (const [measure, valuesOf] of [
          ["score", (scores: ReadonlyArray<number>) => scores],
          ["advantage", (scores: ReadonlyArray<number>) => [...ScoreAdvantage.ofScores(scores, rule)]]
        ] as const) {
          const { bins, columns, high, low } = (yield* reader.distribution(run, { measure }))!
          for (const [bin, count] of columns[0]!.counts.entries()) {
            const from = low + (bin * (high - low)) / bins
            const below = low + ((bin + 1) * (high - low)) / bins
            const end = bin === bins - 1 ? { valueTo: high } : { valueBelow: below }
            const filter = { limit: 10, stepFrom: 4, stepTo: 4, value: measure, valueFrom: from, ...end }
            const { rows } = yield* reader.rollouts(run, filter)
            assert.strictEqual(rows.length === 0, count === 0, `${measure} ${bin}: ${count}`)
            // The database sums advantages in another order.
            const within = (one: number) => one >= from - 1e-9 && one <= below + 1e-9
            assert.isTrue(rows.every(({ scores }) => valuesOf(scores).some(within)))
            if (measure === "advantage") continue
            const isIn = (one: number) => one >= from && (bin === bins - 1 || one < below)
            assert.lengthOf(
              rows,
              scoresOf.filter((scores) => scores.some(isIn)).length,
              `groups with a score from ${from}`
            )
          }
        }
        const lengths = (yield* reader.distribution(run, { measure: "length" }))!
        assert.deepStrictEqual(countOf(lengths), [{ from: 4, to: 4, count: 16 }])
        assert.isNull(yield* reader.distribution(run, { measure: "score", environment: "another" }))
      }
      const unknown = runName()
      const recipe = { loss: "x", isUsed: true, baseline: "batch", advantageScale: "batch-std" } as const
      yield* store.registerRun({ ...spec(unknown), advantages: recipe })
      assert.isNull(yield* reader.distribution(unknown, { measure: "advantage" }))
    })
  )

  it.effect("puts several steps into a column where there are many", () =>
    Effect.gen(function* () {
      const { reader, run, store } = yield* started(2)
      for (let step = 0; step < 130; step++) {
        yield* store.submit(run, [chatSubmission(SampleGroups.plain(2))])
        yield* store.ack(Option.getOrThrow(yield* store.claim(run, trainer)))
      }
      const { bins, columns, high, low } = (yield* reader.distribution(run, { measure: "score" }))!
      assert.deepStrictEqual([columns.length, columns.at(-1)!.to - columns[0]!.from], [65, 129])
      assert.isTrue(columns.every(({ from, to }) => to === from + 1))
      assert.isTrue(columns.every(({ counts }) => counts.length === bins))
      assert.isAtMost(low, high)
    })
  )
}
