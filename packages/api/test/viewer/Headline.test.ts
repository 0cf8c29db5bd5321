import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Headline from "../../viewer/src/run/Headline.ts"
import * as HeldOut from "../../viewer/src/run/HeldOut.ts"
import * as MetricTable from "../../viewer/src/metrics/MetricTable.ts"

const steps = (rewards: ReadonlyArray<number>) =>
  MetricTable.make(
    rewards.map((reward, index) => ({
      source: "trainer",
      step: index + 1,
      at: index * 4000,
      values: { "reward/mean": reward, "train/step_time": 3, "train/tokens_per_second": 1000 }
    }))
  )

const mean = (values: ReadonlyArray<number>) => values.reduce((sum, value) => sum + value, 0) / values.length

const wave = (at: number) => 0.02 * Math.sin(at)
const row = (step: number, values: MetricTable.MetricsRow["values"]) => ({
  source: "trainer",
  step,
  at: step,
  values
})

const evaluated = (source: string, step: number, at: number, value: number) => ({
  source,
  step,
  at,
  values: { "eval/percent_correct": value }
})

const intervalOf = (values: MetricTable.MetricsRow["values"]) =>
  Headline.of(MetricTable.make([{ source: "sorting", step: 4, at: 6, values }]), 0).evaluation!.interval

describe("Headline", () => {
  const Rewards = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: -100, maximum: 100 }))).check(
    Schema.isBetweenLength(2, 60)
  )
  it.prop("compares the last steps with as many before them, and with as many at the start", [Rewards], ([rewards]) => {
    const { reward } = Headline.of(steps(rewards), 0)
    const window = Math.min(10, Math.floor(rewards.length / 2))
    assert.strictEqual(reward!.window, window)
    assert.closeTo(reward!.now, mean(rewards.slice(-window)), 1e-9)
    assert.closeTo(reward!.before, mean(rewards.slice(-2 * window, -window)), 1e-9)
    assert.closeTo(reward!.start, mean(rewards.slice(0, window)), 1e-9)
    const means = rewards.slice(window - 1).map((_, at) => mean(rewards.slice(at, at + window)))
    assert.closeTo(reward!.best.value, Math.max(...means), 1e-9)
    assert.closeTo(mean(rewards.slice(reward!.best.step - window, reward!.best.step)), reward!.best.value, 1e-9)
    assert.isTrue(reward!.fallen === 0 || Math.abs(reward!.best.value - reward!.now - reward!.fallen) < 1e-9)
  })

  it("calls a run fallen that was at 0.95 and is at 0.29, though it is above its start", () => {
    const up = Array.from({ length: 200 }, (_, at) => Math.min(0.95, 0.25 + at / 200) + wave(at))
    const down = Array.from({ length: 100 }, (_, at) => Math.max(0.29, 0.95 - at / 50) + wave(at))
    const { reward } = Headline.of(steps([...up, ...down]), 0)
    assert.isAbove(reward!.now, reward!.start)
    assert.closeTo(reward!.best.value, 0.95, 0.02)
    assert.closeTo(reward!.fallen, 0.66, 0.03)
    assert.strictEqual(Headline.of(steps(up), 0).reward!.fallen, 0)
  })

  it.prop("calls no noise around one height a fall", [Schema.Int], ([seed]) => {
    const noise = (at: number) => Math.sin((at + 1) * 12.9898 + seed) * 43758.5453
    const { reward } = Headline.of(steps(Array.from({ length: 60 }, (_, at) => 0.5 + 0.1 * (noise(at) % 1))), 0)
    assert.isBelow(reward!.fallen, 0.1)
  })

  it("counts skipped steps, and those in which something was no number, and takes no mean over those", () => {
    const table = MetricTable.make([
      row(1, { "reward/mean": 0.5, "train/skipped": 0, "train/skipped_not_finite": 0 }),
      row(2, { "reward/mean": 0.5, "train/loss": "NaN", "train/skipped": 1, "train/skipped_not_finite": 1 }),
      row(3, { "reward/mean": "NaN", "train/skipped": 1, "train/skipped_not_finite": 0 })
    ])
    const { reward, skipped, step } = Headline.of(table, 0)
    assert.deepStrictEqual(skipped, { steps: 2, notFinite: 1 })
    assert.strictEqual(reward!.now, 0.5)
    assert.strictEqual(step, 2)
  })

  it("tells how far a run is and how long it will take", () => {
    const { elapsed, remaining, step, stepTime, tokensPerSecond } = Headline.of(steps([0, 1, 0, 1]), 10)
    assert.deepStrictEqual([step, elapsed, stepTime, tokensPerSecond, remaining], [4, 12, 3, 1000, 18])
    assert.isNull(Headline.of(steps([0, 1]), 2).remaining)
    assert.isNull(Headline.of(steps([0, 1]), -1).totalSteps)
  })

  it("gives the speed by the whole of the steps, waiting included, where tokens are counted", () => {
    const table = MetricTable.make([
      row(1, { "reward/mean": 0, "train/step_time": 1, "train/tokens": 100, "train/tokens_per_second": 5000 }),
      row(2, { "reward/mean": 0, "train/step_time": 3, "train/tokens": 700, "train/tokens_per_second": 9000 })
    ])
    const { isWaitingIncluded, stepTime, tokensPerSecond } = Headline.of(table, 0)
    assert.deepStrictEqual([stepTime, tokensPerSecond, isWaitingIncluded], [2, 200, true])
    assert.isFalse(Headline.of(steps([0, 1]), 2).isWaitingIncluded)
  })

  it("takes the environment's scores where the trainer records none", () => {
    const table = MetricTable.make([{ source: "sorting", step: 3, at: 5, values: { "train/scores_mean": 0.5 } }])
    assert.deepStrictEqual(Headline.of(table, 0).reward, {
      window: 1,
      now: 0.5,
      before: 0.5,
      start: 0.5,
      best: { value: 0.5, step: 3 },
      fallen: 0,
      fellAt: null
    })
    assert.strictEqual(Headline.of(table, 0).step, 3)
  })

  it("tells the latest evaluation", () => {
    const table = MetricTable.make([
      { source: "sorting", step: 1, at: 5, values: { "eval/percent_correct": 0.2, "eval/mean_score": 9 } },
      { source: "sorting", step: 4, at: 6, values: { "eval/percent_correct": 0.4, "eval/mean_score": 9 } }
    ])
    const latest = { name: "eval/percent_correct", value: 0.4, step: 4, first: 0.2, interval: null }
    const { change, ...evaluation } = Headline.of(table, 0).evaluation!
    assert.deepStrictEqual(evaluation, { ...latest, best: { value: 0.4, step: 4 } })
    assert.deepStrictEqual(change, { value: 0.2, kind: "unknown" })
  })

  it("gives the best evaluation, where the latest is below it", () => {
    const rows = [0.25, 0.05, 0.9, 0.45, 0.8].map((value, at) => evaluated("doubles", 6 * at, at, value))
    assert.deepStrictEqual(Headline.of(MetricTable.make(rows), 0).evaluation!.best, { value: 0.9, step: 12 })
  })

  it("calls a change of held-out scores significant only beyond its 95% interval", () => {
    const before = { value: 0.25, interval: [0.112, 0.469] as const }
    const after = { value: 0.8, interval: [0.584, 0.919] as const }
    assert.strictEqual(HeldOut.changeOf(before, after).kind, "higher")
    assert.strictEqual(HeldOut.changeOf(after, before).kind, "lower")
    const [first, last] = [
      { value: 0.698, interval: [0.6, 0.781] as const },
      { value: 0.656, interval: [0.557, 0.744] as const }
    ]
    const change = HeldOut.changeOf(first, last)
    assert.strictEqual(change.kind, "not significant")
    assert.closeTo(change.value, -0.042, 1e-9)
    // Overlapping intervals may still differ: 0.5 ± 0.1 and 0.65 ± 0.1 by 0.15 ± 0.141.
    const [low, high] = [0.5, 0.65].map((value) => ({ value, interval: [value - 0.1, value + 0.1] as const }))
    assert.strictEqual(HeldOut.changeOf(low!, high!).kind, "higher")
  })

  it("states over how many steps the speed is a mean, where the run has more", () => {
    assert.isNull(Headline.of(steps(Array.from({ length: 10 }, () => 1)), 0).recentSteps)
    assert.strictEqual(Headline.of(steps(Array.from({ length: 11 }, () => 1)), 0).recentSteps, 10)
  })

  it("has the course of the loss, for runs whose loss uses no rewards", () => {
    const table = MetricTable.make(
      [4, 3, 2, 1].map((loss, at) => row(at + 1, { "reward/mean": 1, "train/loss": loss }))
    )
    const { loss, losses } = Headline.of(table, 0)
    assert.deepStrictEqual([loss!.start, loss!.now, loss!.window], [3.5, 1.5, 2])
    assert.deepStrictEqual([...losses], [4, 3, 2, 1])
  })

  it("has the interval that the chart draws: recorded bounds, else 1.96 standard errors, within the range of a share", () => {
    const bounds = { "eval/percent_correct_ci_low": 0.3, "eval/percent_correct_ci_high": 0.6 }
    assert.deepStrictEqual(intervalOf({ "eval/percent_correct": 0.4, ...bounds }), [0.3, 0.6])
    const [low, high] = intervalOf({ "eval/percent_correct": 0.9, "eval/percent_correct_stderr": 0.1 })!
    assert.closeTo(low, 0.704, 1e-4)
    assert.strictEqual(high, 1)
    assert.closeTo(intervalOf({ "eval/mean_score": 0.9, "eval/mean_score_stderr": 0.1 })![1], 1.096, 1e-4)
  })

  it("tells the newest evaluation of all that evaluate, and of one step the one that came last", () => {
    const rows = [
      evaluated("sorting", 0, 1, 0.1),
      evaluated("sorting_0", 60, 5, 0.8),
      evaluated("sorting_0", 80, 6, 0.875)
    ]
    const shown = (more: ReadonlyArray<MetricTable.MetricsRow>) =>
      Headline.of(MetricTable.make([...rows, ...more]), 0).evaluation
    const { change: _, ...newest } = shown([])!
    const best = { value: 0.875, step: 80 }
    assert.deepStrictEqual(newest, { name: "eval/percent_correct", first: 0.8, interval: null, ...best, best })
    assert.strictEqual(shown([evaluated("sorting", 80, 7, 0.883)])?.value, 0.883)
  })

  it("takes what all steps took for the time of a run, and no pause between them", () => {
    const table = MetricTable.make([
      { source: "sorting", step: 0, at: 0, values: { "eval/mean_score": 1 } },
      { source: "trainer", step: 1, at: 60_000, values: { "reward/mean": 0, "train/step_time": 2 } },
      { source: "trainer", step: 2, at: 9_000_000, values: { "reward/mean": 0, "train/step_time": 3 } }
    ])
    assert.strictEqual(Headline.of(table, 0).elapsed, 5)
  })

  it("knows nothing of an empty run", () => {
    const { losses, rewards, ...others } = Headline.of(MetricTable.make(), 0)
    assert.deepStrictEqual([rewards.length, losses.length], [0, 0])
    assert.deepStrictEqual(new Set(Object.values(others)), new Set([null]))
  })
})
