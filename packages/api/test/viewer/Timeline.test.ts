import { assert, describe, it } from "@effect/vitest"
import { arrange } from "../../viewer/src/run/RunPage.tsx"
import * as Catalog from "../../viewer/src/chart/Catalog.ts"
import * as MetricTable from "../../viewer/src/metrics/MetricTable.ts"
import { loadArrivals, missingArrivals } from "../../viewer/src/run/StepTimeline.tsx"
import * as InlineSource from "../../viewer/src/source/InlineSource.ts"
import type { RolloutRow } from "../../viewer/src/source/Wire.ts"
import * as Timeline from "../../viewer/src/run/Timeline.ts"

const row = (source: string, step: number, values: { readonly [name: string]: number }) => ({
  source,
  step,
  at: 1_000_000 + step * 10_000,
  values
})

const table = MetricTable.make(
  [1, 2, 3].map((step) =>
    row("trainer", step, {
      "train/step_time": 10,
      "train/data_fetch_time": 6,
      "train/compute_time": 3,
      "train/sync_time": 0.5
    })
  )
)

/** So many groups, a hundred of each step, the newest first. */
const groups = (count: number): ReadonlyArray<RolloutRow> =>
  Array.from({ length: count }, (_, at) => ({
    id: String(count - at),
    environment: "sums",
    env_id: 0,
    step: Math.ceil((count - at) / 100),
    state: "consumed",
    created_at: count - at,
    sequences: 1,
    tokens: 1,
    scores: [0],
    policy_step: null,
    preview: null,
    figures: null
  }))

const arrivalsOf = (rows: ReadonlyArray<RolloutRow>, stepFrom: number) =>
  loadArrivals(
    InlineSource.make({ title: "", runs: [{ name: "a", rows, groups: {} }] }),
    "a",
    stepFrom,
    new AbortController().signal
  )

describe("groups of a timeline", () => {
  it("are all those of its steps, on however many pages they come", async () => {
    const arrivals = await arrivalsOf(groups(3500), 16)
    assert.deepStrictEqual([arrivals.rows.length, arrivals.total], [2000, 2000])
    assert.isNull(missingArrivals(arrivals))
  })

  it("are the newest ten thousand of more, which is said", async () => {
    const arrivals = await arrivalsOf(groups(12_000), 1)
    assert.lengthOf(arrivals.rows, 10_000)
    assert.strictEqual(
      missingArrivals(arrivals),
      "Showing the newest 10,000 of 12,000 groups; environment lanes are empty before step 21."
    )
  })
})

describe("labels of a timeline", () => {
  it("stand apart, however close the steps are", () => {
    assert.deepStrictEqual([...Timeline.labelled([0, 10, 39, 40, 85, 90], 40)], [0, 3, 4])
    assert.deepStrictEqual([...Timeline.labelled([], 40)], [])
  })
})

describe("Timeline", () => {
  it("lays the parts of a step one after the other, up to its end", () => {
    const timeline = Timeline.of(table, [], 2)!
    assert.deepStrictEqual(
      timeline.steps.map(({ from, step, to }) => [step, from, to]),
      [
        [2, 1_010_000, 1_020_000],
        [3, 1_020_000, 1_030_000]
      ]
    )
    assert.deepStrictEqual(timeline.steps[0]!.spans, [
      { from: 1_010_000, to: 1_016_000, part: 0 },
      { from: 1_016_000, to: 1_019_000, part: 2 },
      { from: 1_019_000, to: 1_019_500, part: 4 }
    ])
    assert.isNull(Timeline.of(MetricTable.make(), [], 2))
  })

  it("says where the time goes, and what would help", () => {
    const told = Timeline.summarize(Timeline.of(table, [], 20)!, (seconds) => `${seconds} s`)
    assert.match(
      told,
      /^Mean step time of the last 3 steps: 10 s \(60% waiting for rollouts, 30% computing, 5% syncing weights, 5% other\)\. The trainer waits for rollouts/
    )
  })
})

const arranged = (rows: ReadonlyArray<ReturnType<typeof row>>) => {
  const run = { name: "r", tone: 0, table: MetricTable.make(rows), watched: MetricTable.make() }
  return arrange(Catalog.sections([run]), [run]).map(({ charts, title }) => [title, charts.map(({ id }) => id)])
}

describe("Arrangement", () => {
  const figures = { "reward/mean": 1, "train/loss": 1, "grpo/kl": 1, "eval/percent_correct": 1 }

  it("puts reward and policy first, then the evaluation, and shows a single environment's scores once", () => {
    assert.deepStrictEqual(arranged([row("trainer", 1, figures), row("math", 1, { "train/scores_mean": 1 })]), [
      ["Overview", ["reward", "kl"]],
      ["Evaluation", ["eval/percent_correct"]],
      ["Learning", ["loss"]]
    ])
    const two = ["math", "code"].map((source) => row(source, 1, { "train/scores_mean": 1 }))
    assert.deepStrictEqual(arranged([row("trainer", 1, figures), ...two])[1], ["Reward", ["scores"]])
    assert.deepStrictEqual(arranged(two)[0], ["Overview", ["scores"]])
  })
})
