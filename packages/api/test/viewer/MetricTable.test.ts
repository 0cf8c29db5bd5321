import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as MetricTable from "../../viewer/src/metrics/MetricTable.ts"

const Row = Schema.Struct({
  source: Schema.Literals(["trainer", "sorting", "adding"]),
  step: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 12 })),
  at: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1000 })),
  values: Schema.Record(Schema.Literals(["loss", "kl", "reward"]), Schema.Number)
}).pipe(Schema.toType)

const entries = (points: MetricTable.Points) =>
  Array.from(points.steps, (step, index) => [step, points.times[index], points.values[index]])

/** The same by maps, without any of the table's short cuts. */
const expected = (rows: ReadonlyArray<MetricTable.MetricsRow>, source: string, name: string) => {
  const own = rows.filter((row) => row.source === source)
  const times = new Map(own.map(({ at, step }) => [step, at]))
  const values = new Map(own.flatMap(({ step, values }) => (name in values ? [[step, Number(values[name])]] : [])))
  return [...values].map(([step, value]) => [step, times.get(step), value]).sort(([left], [right]) => left! - right!)
}

describe("MetricTable", () => {
  it.prop(
    "keeps, per source, step and name, the value that came last",
    [Schema.Array(Row), Schema.Array(Row)],
    ([head, tail]) => {
      const table = MetricTable.make(head)
      table.add(tail)
      const rows = [...head, ...tail]
      for (const source of ["trainer", "sorting", "adding"]) {
        for (const name of ["loss", "kl", "reward"]) {
          assert.deepStrictEqual(entries(table.points(source, name)), expected(rows, source, name))
        }
      }
      assert.deepStrictEqual(table.names(), [...new Set(rows.flatMap(({ values }) => Object.keys(values)))].sort())
      const steps = rows.map(({ step }) => step)
      assert.deepStrictEqual(
        table.steps(),
        rows.length === 0 ? null : { first: Math.min(...steps), last: Math.max(...steps) }
      )
    }
  )

  it("merges an evaluation's row into the step it belongs to", () => {
    const table = MetricTable.make([
      { source: "sorting", step: 4, at: 10, values: { "train/scores_mean": 0.5 } },
      { source: "sorting", step: 4, at: 12, values: { "eval/percent_correct": 0.75 } }
    ])
    assert.deepStrictEqual(entries(table.points("sorting", "train/scores_mean")), [[4, 12, 0.5]])
    assert.deepStrictEqual(entries(table.points("sorting", "eval/percent_correct")), [[4, 12, 0.75]])
    assert.deepStrictEqual(table.sourcesOf("eval/percent_correct"), ["sorting"])
  })

  it("keeps what is not finite, by number or by name, until the step is recorded again", () => {
    const table = MetricTable.make([
      { source: "trainer", step: 1, at: 1, values: { loss: "NaN", kl: 1 } },
      { source: "trainer", step: 3, at: 3, values: { loss: "-Infinity", kl: 1 } },
      { source: "trainer", step: 4, at: 4, values: { kl: 1 } }
    ])
    table.add([{ source: "trainer", step: 2, at: 2, values: { loss: null } }])
    assert.deepStrictEqual(entries(table.points("trainer", "loss")), [
      [1, 1, Number.NaN],
      [2, 2, Number.NaN],
      [3, 3, Number.NEGATIVE_INFINITY]
    ])
    table.add([{ source: "trainer", step: 2, at: 5, values: { loss: 3 } }])
    assert.deepStrictEqual(entries(table.points("trainer", "loss"))[1], [2, 5, 3])
  })

  it("gives the same points until the metric changes", () => {
    const table = MetricTable.make([{ source: "trainer", step: 1, at: 1, values: { loss: 1, kl: 2 } }])
    const loss = table.points("trainer", "loss")
    const kl = table.points("trainer", "kl")
    table.add([{ source: "trainer", step: 2, at: 2, values: { loss: 3 } }])
    assert.strictEqual(table.points("trainer", "kl"), kl)
    assert.notStrictEqual(table.points("trainer", "loss"), loss)
  })
})
