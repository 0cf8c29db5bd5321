import { Dataset, Environment, Laws, RewardComponents, SeededRandom, ServerManager } from "@atropos/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema, Stream } from "effect"
import * as Fundamentals from "../src/Fundamentals.ts"
import * as Prediction from "../src/markets/Prediction.ts"
import * as Statements from "../src/markets/Statements.ts"

const seeds = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100_000 }))
const report = { metric: "revenue guidance", context: "", direction: "raised", magnitude: 5 } as const
const sentence = (direction: string, magnitude: number | string) =>
  `The revenue guidance will be: ${direction} and the magnitude will be: ${magnitude}%`

const scoreOf = (of: Pick<Statements.Report, "direction" | "magnitude" | "metric">, completion: string): number =>
  RewardComponents.scoreOf(Prediction.judge({ context: "", ...of }, completion), Prediction.rule)

const environment = (settings: Parameters<typeof Fundamentals.layer>[0], rows: ReadonlyArray<unknown> = []) =>
  Fundamentals.layer(settings).pipe(
    Layer.provide([ServerManager.layerScripted([sentence("raised", 5)]), Dataset.layerMemory({ rows })])
  )

describe("Fundamentals", () => {
  it("both the direction and the magnitude count", () => {
    const scores = [5, 6, 9, 14, 24, 30].map((magnitude) => scoreOf(report, sentence("raised", magnitude)))
    for (const [index, expected] of [1, 0.95, 0.85, 0.75, 0.65, 0.5].entries()) {
      assert.closeTo(scores[index]!, expected, 1e-12)
    }
    assert.strictEqual(scoreOf(report, sentence("reduced", 5)), -1)
    assert.strictEqual(scoreOf(report, sentence("raised", "+5")), 1)
  })

  it("wants exactly one sentence of the form, after the thinking", () => {
    assert.strictEqual(scoreOf(report, "It will be raised by 5%."), -1)
    assert.strictEqual(scoreOf(report, `${sentence("raised", 5)} ${sentence("reduced", 5)}`), -1)
    assert.strictEqual(scoreOf(report, `<think>${sentence("raised", 5)}</think>`), -1)
    assert.strictEqual(scoreOf(report, `<think>${sentence("reduced", 1)}</think>${sentence("raised", 5)}`), 1)
    assert.strictEqual(scoreOf({ ...report, metric: "a+b (net)" }, sentence("raised", 5)), -1)
  })

  it("takes no sentence that is denied, taken back or contradicts itself", () => {
    for (const text of [
      `It is not true that ${sentence("raised", 5)}.`,
      `${sentence("raised", 5)} is what I do not expect.`,
      `${sentence("raised", 5)}. No, that is wrong.`,
      `Never say: \u201cI doubt that ${sentence("raised", 5)}\u201d.`,
      sentence("raised", -5)
    ]) {
      assert.strictEqual(scoreOf(report, text), -1, text)
    }
    for (const text of [
      `So: ${sentence("raised", 5)}.`,
      `Orders rose.\n\n**${sentence("raised", 5)}**`,
      `Orders rose. "${sentence("raised", 5)}".\n`
    ]) {
      assert.strictEqual(scoreOf(report, text), 1, text)
    }
    assert.strictEqual(scoreOf({ ...report, direction: "reduced" }, sentence("reduced", -5)), 1)
  })

  it.prop("what happens to a figure is what its report's sentences add up to", [seeds], ([seed]) => {
    const { context, direction, magnitude } = Statements.draw(SeededRandom.seeded(seed, 0))
    const change = Array.from(context.matchAll(/(plus|minus) (\d+) percent/g)).reduce(
      (sum, [, sign, percent]) => sum + (sign === "plus" ? 1 : -1) * Number(percent),
      0
    )
    assert.strictEqual(Statements.directionOf(change), direction)
    assert.strictEqual(Math.abs(change), magnitude)
  })

  it("no direction is rare among generated reports", () => {
    const drawn = Array.from({ length: 600 }, (_, seed) => Statements.draw(SeededRandom.seeded(seed, 1)).direction)
    for (const direction of Statements.directions) {
      assert.isAbove(drawn.filter((one) => one === direction).length, 120, direction)
    }
  })

  it.effect("rows of a data set are asked and judged alike; a row without a direction is left out", () =>
    Effect.gen(function* () {
      const { groups } = yield* Environment.Environment
      const [group] = yield* Stream.runCollect(Stream.take(groups, 1))
      assert.deepStrictEqual(Array.from(group!.scores), [0.95, 0.95])
    }).pipe(
      Effect.provide(
        environment({ source: "rows", groupSize: 2 }, [
          { context: "c", fundamental_metric: "revenue guidance", answer: "Raised", magnitude: "6%" },
          { context: "c", fundamental_metric: "revenue guidance", answer: "perhaps", magnitude: "6%" },
          { context: "c", fundamental_metric: "revenue guidance", answer: "raised", magnitude: 6 }
        ])
      )
    )
  )

  it.effect("gold on top, any order", () =>
    Effect.gen(function* () {
      const { claims } = yield* Environment.Environment
      if (claims._tag === "None" || !("items" in claims.value)) throw new Error("no claims to test")
      const { items, scoreRange } = claims.value
      yield* Stream.runForEach(Stream.take(items, 30), ({ gold, score, wrong }) =>
        Effect.gen(function* () {
          yield* Laws.goldOnTop(score, gold, wrong, scoreRange)
          yield* Laws.permutation(score, gold, Array.from(gold.keys()).toReversed())
        })
      )
    }).pipe(Effect.provide(environment({})))
  )
})
