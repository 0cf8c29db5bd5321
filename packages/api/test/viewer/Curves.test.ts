import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Catalog from "../../viewer/src/chart/Catalog.ts"
import * as Curves from "../../viewer/src/chart/Curves.ts"
import * as MetricTable from "../../viewer/src/metrics/MetricTable.ts"

const row = (source: string, step: number, values: MetricTable.MetricsRow["values"]): MetricTable.MetricsRow => ({
  source,
  step,
  at: 1_000_000 + step * 2000,
  values
})
const run = (name: string, tone: number, rows: ReadonlyArray<MetricTable.MetricsRow>): Curves.RunData => ({
  name,
  tone,
  table: MetricTable.make(rows),
  watched: MetricTable.make()
})
const chartOf = (runs: ReadonlyArray<Curves.RunData>, id: string): Catalog.Chart => {
  const chart = Catalog.sections(runs)
    .flatMap(({ charts }) => charts)
    .find((chart) => chart.id === id)
  assert.isDefined(chart, `a chart ${id}`)
  return chart
}
const looks = (entries: ReadonlyArray<Curves.Entry>) => entries.map(({ dash, label, tone }) => [label, tone, dash])
const byStep: Curves.View = { axis: "step", smoothing: 0 }

const lengths = { "train/completion_lengths": 5, "train/completion_lengths_p95": 9, "train/completion_lengths_max": 10 }

describe("Curves.layout", () => {
  it("tells the traces of one environment apart by colour", () => {
    const runs = [run("a", 0, [row("sorting", 1, lengths)])]
    assert.deepStrictEqual(looks(Curves.layout(chartOf(runs, "lengths"), runs)), [
      ["mean", 0, 0],
      ["p95", 1, 0],
      ["max", 2, 0]
    ])
  })

  it("tells environments apart by colour and their traces by dashes", () => {
    const runs = [run("a", 0, [row("sorting", 1, lengths), row("adding", 1, { "train/completion_lengths": 7 })])]
    assert.deepStrictEqual(looks(Curves.layout(chartOf(runs, "lengths"), runs)), [
      ["sorting · mean", 0, 0],
      ["adding · mean", 1, 0],
      ["sorting · p95", 0, 1],
      ["sorting · max", 0, 2]
    ])
  })

  it("gives each of several runs its colour everywhere, and leaves the trainer's name out", () => {
    const runs = [
      run("a", 0, [row("trainer", 1, { "train/loss": 1 })]),
      run("b", 1, []),
      run("c", 2, [row("trainer", 1, { "train/loss": 2 })])
    ]
    assert.deepStrictEqual(looks(Curves.layout(chartOf(runs, "loss"), runs)), [
      ["a", 0, 0],
      ["c", 2, 0]
    ])
  })

  it.prop("has a key of its own for every curve", [Schema.Array(Schema.Literals(["x", "y", "z"]))], ([sources]) => {
    const runs = ["a", "b"].map((name, tone) =>
      run(
        name,
        tone,
        sources.map((source) => row(source, 1, lengths))
      )
    )
    const entries = Curves.layout(chartOf([run("c", 0, [row("x", 1, lengths)])], "lengths"), runs)
    assert.lengthOf(new Set(entries.map(({ key }) => key)), entries.length)
    assert.lengthOf(entries, new Set(sources).size * 6)
  })
})

const at = (line: { readonly xs: Float64Array; readonly ys: Float64Array }) =>
  Array.from(line.ys.entries()).flatMap(([index, y]) => (Number.isNaN(y) ? [line.xs[index]!] : []))

const evenly = (from: number, to: number, by = 1) =>
  Array.from({ length: (to - from) / by + 1 }, (_, index) => from + index * by)

describe("Curves.draw", () => {
  const drawn = (rows: ReadonlyArray<MetricTable.MetricsRow>, id: string, view = byStep) => {
    const runs = [run("a", 0, rows)]
    const chart = chartOf(runs, id)
    const [curve] = Curves.draw(chart, Curves.layout(chart, runs), view)
    return { gaps: at(curve!.drawn), told: Curves.gapsTold([curve!]), values: curve!.line.ys.length }
  }
  const losses = (steps: ReadonlyArray<number>) => steps.map((step) => row("trainer", step, { "train/loss": step }))
  it("breaks a curve where steps have no value, whether one or many, and tells nothing that is no number of them", () => {
    const { gaps, told, values } = drawn(losses([...evenly(1, 10), ...evenly(12, 20), ...evenly(60, 80)]), "loss")
    assert.deepStrictEqual([gaps, told, values], [[11, 40], "", 40])
    assert.deepStrictEqual(drawn(losses(evenly(1, 40)), "loss").gaps, [])
  })

  it("breaks no curve of a source that records every tenth step, or now and then", () => {
    assert.deepStrictEqual(drawn(losses(evenly(10, 200, 10)), "loss").gaps, [])
    const now = [1, 2, 4, 5, 8, 9, 10, 13, 14, 16, 19, 20].map((step) => row("sorting", step, lengths))
    assert.deepStrictEqual(drawn(now, "lengths").gaps, [])
    const gone = [...now, ...[90, 91, 93, 94, 95].map((step) => row("sorting", step, lengths))]
    assert.deepStrictEqual(drawn(gone, "lengths").gaps, [55])
  })

  it("breaks curves over time where a run was stopped, and those over steps not", () => {
    const rows = evenly(1, 20).map((step) => ({ ...row("trainer", step, { "train/loss": 1 }), at: step * 2000 }))
    const resumed = rows.map((one) => (one.step > 10 ? { ...one, at: one.at + 3_600_000 } : one))
    assert.deepStrictEqual(drawn(resumed, "loss").gaps, [])
    assert.lengthOf(drawn(resumed, "loss", { axis: "time", smoothing: 0 }).gaps, 1)
    assert.lengthOf(drawn(rows, "loss", { axis: "time", smoothing: 0 }).gaps, 0)
  })

  it("joins the few measurements of evaluations", () => {
    const rows = [0, 1, 2, 3, 4, 5, 80].map((step) => row("sorting", step, { "eval/mean_score": step }))
    assert.deepStrictEqual(drawn(rows, "eval/mean_score").gaps, [])
  })
})

describe("Catalog.sections", () => {
  const charts = (rows: ReadonlyArray<MetricTable.MetricsRow>) =>
    Catalog.sections([run("a", 0, rows)]).flatMap(({ charts }) => charts)
  const trainer = { "reward/mean": 0.5, "reward/std": 0.1, "reward/solved_fraction": 0.4 }

  it("has components where a reward has some, and takes none of the trainer's own figures for one", () => {
    assert.notInclude(
      charts([row("trainer", 1, trainer)]).map(({ title }) => title),
      "Reward components"
    )
    const [found, ...others] = charts([
      row("trainer", 1, trainer),
      row("sorting", 1, { "reward/format": 1, "reward/correct": 0 })
    ]).filter(({ title }) => title === "Reward components")
    assert.deepStrictEqual(
      [found?.source, found?.traces.map(({ label }) => label), others],
      ["sorting", ["correct", "format"], []]
    )
  })

  it("titles evaluated scores, and components as such", () => {
    const evaluated = { "eval/percent_correct": 0.5, "eval/reward/near": 0.5 }
    assert.deepStrictEqual(
      charts([row("sorting", 1, evaluated)]).map(({ title }) => title),
      ["Percent correct", "Component near"]
    )
  })

  it("says at which temperatures training and evaluations sample", () => {
    const [found] = charts([
      row("sorting", 1, { "train/temperature": 1, "eval/percent_correct": 0.5, "eval/temperature": 0 })
    ]).filter(({ id }) => id.startsWith("eval/"))
    assert.strictEqual(found?.help, "On held-out items, sampled at temperature 0; training samples at 1.")
  })
})

describe("Curves.gapsTold", () => {
  it("names the steps at which a curve has no number", () => {
    const told = (values: ReadonlyArray<number | string>, view = byStep) => {
      const runs = [
        run(
          "a",
          0,
          values.map((loss, index) => ({ ...row("trainer", index + 1, {}), values: { "train/loss": loss } }))
        )
      ]
      const chart = chartOf(runs, "loss")
      return Curves.gapsTold(Curves.draw(chart, Curves.layout(chart, runs), view))
    }
    assert.strictEqual(told([1, 2, 3]), "")
    assert.strictEqual(told([1, "NaN", 3]), "loss is NaN at step 2")
    assert.strictEqual(
      told([1, "NaN", "Infinity"], { axis: "time", smoothing: 0.9 }),
      "loss is NaN or infinite at steps 2, 3"
    )
    assert.strictEqual(told([1, ...Array.from({ length: 9 }, () => "NaN")]), "loss is NaN at 9 steps: 2, 3, 4, … 10")
  })
})

describe("Curves.draw", () => {
  it("divides by the metric a trace is measured per, where both are recorded", () => {
    const runs = [
      run("a", 0, [
        row("trainer", 1, { "batch/groups": 16, "train/step_time": 2 }),
        row("trainer", 2, { "batch/groups": 16 })
      ])
    ]
    const chart = chartOf(runs, "groups")
    const [curve] = Curves.draw(chart, Curves.layout(chart, runs), byStep)
    assert.deepStrictEqual([[...curve!.line.xs], [...curve!.line.ys]], [[1], [8]])
  })

  it("draws the interval of an evaluation, given as bounds or as a standard error, and never smooths it", () => {
    const runs = [
      run("a", 0, [
        row("sorting", 1, { "eval/pass": 0.5, "eval/pass_ci_low": 0.4, "eval/pass_ci_high": 0.6 }),
        row("sorting", 2, { "eval/pass": 0.7, "eval/pass_ci_low": 0.6, "eval/pass_ci_high": 0.8, "eval/score": 1 }),
        row("sorting", 3, { "eval/score": 2, "eval/score_stderr": 0.5 })
      ])
    ]
    const view: Curves.View = { axis: "step", smoothing: 0.9 }
    const drawn = (id: string) => Curves.draw(chartOf(runs, id), Curves.layout(chartOf(runs, id), runs), view)[0]!
    assert.deepStrictEqual([...drawn("eval/pass").line.ys], [0.5, 0.7])
    assert.deepStrictEqual([...drawn("eval/pass").band!.high.ys], [0.6, 0.8])
    assert.deepStrictEqual([...drawn("eval/score").band!.low.xs], [3])
    assert.closeTo(drawn("eval/score").band!.low.ys[0]!, 2 - 1.96 * 0.5, 1e-3)
  })

  it("puts the parts of a step on top of each other, and keeps what each of them is", () => {
    const runs = [
      run("a", 0, [row("trainer", 1, { "train/data_fetch_time": 1, "train/compute_time": 2, "train/save_time": 3 })])
    ]
    const chart = chartOf(runs, "parts")
    const curves = Curves.draw(chart, Curves.layout(chart, runs), byStep)
    assert.deepStrictEqual(
      curves.map(({ line }) => line.ys[0]),
      [1, 2, 3]
    )
    assert.deepStrictEqual(
      curves.map(({ drawn }) => drawn.ys[0]),
      [1, 3, 6]
    )
  })

  it("counts seconds from each run's own first row", () => {
    const runs = [run("a", 0, [row("trainer", 5, { "train/loss": 1 }), row("trainer", 6, { "train/loss": 2 })])]
    const chart = chartOf(runs, "loss")
    const [curve] = Curves.draw(chart, Curves.layout(chart, runs), { axis: "time", smoothing: 0.5 })
    assert.deepStrictEqual([...curve!.line.xs], [0, 2])
    assert.deepStrictEqual([...curve!.raw!.ys], [1, 2])
    assert.deepStrictEqual(Curves.domain(runs, "time"), [0, 2])
  })

  it("draws the same lines again while nothing is new", () => {
    const runs = [run("a", 0, [row("trainer", 1, { "train/loss": 1, "train/lr": 2 })])]
    const chart = chartOf(runs, "loss")
    const line = () => Curves.draw(chart, Curves.layout(chart, runs), { axis: "time", smoothing: 0.5 })[0]!.line
    const before = line()
    runs[0]!.table.add([row("trainer", 2, { "train/lr": 3 })])
    assert.strictEqual(line(), before)
    runs[0]!.table.add([row("trainer", 2, { "train/loss": 3 })])
    assert.notStrictEqual(line(), before)
  })
})

const ids = (runs: ReadonlyArray<Curves.RunData>) =>
  Catalog.sections(runs).flatMap(({ charts }) => charts.map(({ id }) => id))

describe("Catalog", () => {
  it("shows charts of what is recorded, and the queue once its step has changed", () => {
    const one = run("a", 0, [row("trainer", 1, { "train/loss": 1, "batch/groups": 2 })])
    assert.deepStrictEqual(ids([one]), ["loss"])
    one.watched.add([row("queue", 1, { "queue/groups": 3 })])
    assert.deepStrictEqual(ids([one]), ["loss"])
    one.watched.add([row("queue", 2, { "queue/groups": 4 })])
    assert.deepStrictEqual(ids([one]), ["loss", "queue"])
  })

  it("groups every metric by prefix and finds those that have all words", () => {
    const names = ["grpo/kl", "server/server_0_failures", "server/server_1_failures", "steps"]
    const found = (search: string) =>
      Catalog.byPrefix(names, search).map(({ charts, prefix }) => [prefix, charts.map(({ title }) => title)])
    assert.deepStrictEqual(found(""), [
      ["", ["steps"]],
      ["grpo", ["grpo/kl"]],
      ["server", ["server/server_0_failures", "server/server_1_failures"]]
    ])
    assert.deepStrictEqual(found("Fail 1"), [["server", ["server/server_1_failures"]]])
    assert.deepStrictEqual(found("nothing"), [])
  })
})

describe("Curves.isSameLayout", () => {
  it("holds while rows come in, and no longer when there is another curve or table", () => {
    const loss = run("a", 0, [row("trainer", 1, { "train/loss": 1 })])
    const chart = chartOf([loss], "loss")
    const before = Curves.layout(chart, [loss])
    loss.table.add([row("trainer", 2, { "train/loss": 1 })])
    assert.isTrue(Curves.isSameLayout(before, Curves.layout(chart, [loss])))
    assert.isFalse(Curves.isSameLayout(before, Curves.layout(chart, [loss, { ...loss, name: "b", tone: 1 }])))
    assert.isFalse(
      Curves.isSameLayout(before, Curves.layout(chart, [run("a", 0, [row("trainer", 1, { "train/loss": 1 })])]))
    )
    assert.isFalse(Curves.isSameLayout(before, Curves.layout(chart, [])))
  })
})
