import { assert, describe, it } from "@effect/vitest"
import * as Catalog from "../../viewer/src/chart/Catalog.ts"
import * as Curves from "../../viewer/src/chart/Curves.ts"
import * as Facets from "../../viewer/src/chart/Facets.ts"
import * as MetricTable from "../../viewer/src/metrics/MetricTable.ts"

const run = (name: string, tone: number, sources: ReadonlyArray<string>, values: { readonly [name: string]: number }) =>
  ({
    name,
    tone,
    table: MetricTable.make(sources.map((source) => ({ source, step: 1, at: 1000, values }))),
    watched: MetricTable.make()
  }) satisfies Curves.RunData

const facetsOf = (id: string, runs: ReadonlyArray<Curves.RunData>) => {
  const chart = Catalog.sections(runs)
    .flatMap(({ charts }) => charts)
    .find((chart) => chart.id === id)!
  const facets = Facets.of(chart, Curves.layout(chart, runs))
  return facets?.map(({ entries, name }) => [name, entries.map(({ dash, label, tone }) => [label, tone, dash])]) ?? null
}

const lengths = { "train/completion_lengths": 5, "train/completion_lengths_p95": 9, "train/completion_lengths_max": 10 }
const scores = { "train/scores_mean": 0.5 }

describe("Facets.of", () => {
  it("gives each environment a facet where several runs have several, in which a run has its colour", () => {
    const runs = [run("a", 0, ["sorting", "adding"], scores), run("b", 3, ["adding"], scores)]
    assert.deepStrictEqual(facetsOf("scores", runs), [
      ["sorting", [["a", 0, 0]]],
      [
        "adding",
        [
          ["a", 0, 0],
          ["b", 3, 0]
        ]
      ]
    ])
  })

  it("leaves a few environments of one run, and one environment of several, in one chart", () => {
    assert.isNull(facetsOf("scores", [run("a", 0, ["sorting", "adding"], scores)]))
    assert.isNull(facetsOf("scores", [run("a", 0, ["sorting"], scores), run("b", 1, ["sorting"], scores)]))
    assert.isNull(facetsOf("lengths", [run("a", 0, ["sorting"], lengths), run("b", 1, ["sorting"], lengths)]))
  })

  it("divides a crowd of curves of one run by environment, with the same colours in each", () => {
    const looks = [
      ["mean", 0, 0],
      ["p95", 1, 0],
      ["max", 2, 0]
    ]
    assert.deepStrictEqual(
      facetsOf("lengths", [run("a", 0, ["x", "y", "z"], lengths)]),
      ["x", "y", "z"].map((name) => [name, looks])
    )
  })

  it("tells traces of several runs apart by dashes, and divides a crowd of one environment by trace", () => {
    const two = [run("a", 0, ["x", "y"], lengths), run("b", 1, ["x", "y"], lengths)]
    assert.deepStrictEqual(facetsOf("lengths", two)?.[0], [
      "x",
      [
        ["a · mean", 0, 0],
        ["a · p95", 0, 1],
        ["a · max", 0, 2],
        ["b · mean", 1, 0],
        ["b · p95", 1, 1],
        ["b · max", 1, 2]
      ]
    ])
    const three = ["a", "b", "c"].map((name, tone) => run(name, tone, ["x"], lengths))
    assert.deepStrictEqual(
      facetsOf("lengths", three),
      ["mean", "p95", "max"].map((trace) => [
        trace,
        [
          ["a", 0, 0],
          ["b", 1, 0],
          ["c", 2, 0]
        ]
      ])
    )
  })

  it("draws parts of a whole in one chart", () => {
    const parts = { "train/data_fetch_time": 1, "train/compute_time": 2 }
    assert.isNull(facetsOf("parts", [run("a", 0, ["x", "y", "z", "u"], parts)]))
  })
})

describe("Curves.extent", () => {
  it("has the values of all curves in the range, above zero where the axis is logarithmic", () => {
    const runs = [run("a", 0, ["x"], scores), run("b", 1, ["x"], { "train/scores_mean": -2 })]
    runs[0]!.table.add([{ source: "x", step: 9, at: 9000, values: { "train/scores_mean": 7 } }])
    const chart: Catalog.Chart = {
      id: "scores",
      title: "Scores",
      help: "",
      unit: "number",
      kind: "lines",
      traces: [{ label: "mean", metric: "train/scores_mean" }]
    }
    const curves = Curves.draw(chart, Curves.layout(chart, runs), { axis: "step", smoothing: 0 })
    assert.deepStrictEqual(Curves.extent(curves, [0, 10], false), [-2, 7])
    assert.deepStrictEqual(Curves.extent(curves, [0, 5], false), [-2, 0.5])
    assert.deepStrictEqual(Curves.extent(curves, [0, 5], true), [0.5, 0.5])
    assert.isNull(Curves.extent(curves, [20, 30], false))
  })
})
