import { assert, describe, it } from "@effect/vitest"
import * as Health from "../../src/health/Health.ts"
import * as Growth from "../base/Growth.ts"

type Values = ReadonlyArray<number>

/** Of sources, the values of their metrics at the steps from 1 on. */
const recorded = (sources: { readonly [source: string]: { readonly [metric: string]: Values } }): Health.Recorded => ({
  names: () => [...new Set(Object.values(sources).flatMap((metrics) => Object.keys(metrics)))],
  sourcesOf: (metric) => Object.keys(sources).filter((source) => sources[source]![metric] !== undefined),
  points: (source, metric) => {
    const values = sources[source]?.[metric] ?? []
    return { steps: values.map((_, index) => index + 1), values }
  }
})

const course = (length: number, value: (step: number) => number): Values =>
  Array.from({ length }, (_, index) => value(index + 1))
/** Small, and never the same twice in a row. */
const noise = (step: number): number => 0.02 * Math.sin(step * 2.4)

const found = (sources: Parameters<typeof recorded>[0]) => Health.judge(recorded(sources))
const names = (sources: Parameters<typeof recorded>[0]) => found(sources).map(({ rule }) => rule)

describe("Health", () => {
  it("finds nothing in a run that learns", () => {
    const trainer = {
      "reward/mean": course(200, (step) => 0.2 + 0.6 * (1 - Math.exp(-step / 60)) + noise(step)),
      "train/loss": course(200, noise),
      "train/grad_norm": course(200, (step) => 1 + 10 * noise(step)),
      "train/skipped": course(200, () => 0),
      "train/skipped_not_finite": course(200, () => 0),
      "grpo/entropy": course(200, (step) => 0.5 - step / 1000),
      "grpo/kl": course(200, (step) => step / 10_000),
      "alignment/on_policy_diff": course(200, () => 0.01),
      "batch/groups": course(200, () => 8),
      "batch/zero_variance_groups": course(200, (step) => step % 4)
    }
    const math_0 = {
      "train/completion_lengths": course(200, (step) => 100 + step / 3),
      "train/percent_identical": course(200, (step) => (step % 4) / 8),
      "train/truncated_fraction": course(200, () => 0.05),
      "train/items_sent_to_api": course(200, () => 8),
      "train/scores_mean": course(200, () => 0.5),
      "reward/correct": course(200, (step) => 0.2 + step / 400 + noise(step)),
      "reward/format": course(200, (step) => 0.6 + step / 500 + noise(step))
    }
    assert.deepStrictEqual(found({ trainer, math_0 }), [])
  })

  it("names the step at which a reward collapsed, and its best", () => {
    const reward = course(90, (step) => (step < 61 ? 0.2 + step / 100 : 0.1) + noise(step))
    const [collapse, ...others] = found({ trainer: { "reward/mean": reward } })
    assert.deepStrictEqual(others, [])
    assert.strictEqual(collapse!.rule, "collapse")
    assert.strictEqual(collapse!.severity, "broken")
    assert.deepStrictEqual([collapse!.from, collapse!.to], [61, 90])
    assert.strictEqual(collapse!.message, "Reward fell at step 61: 0.101 now, best 0.754 at step 60.")
  })

  it("tells a fall that is no collapse, and neither where it is chance", () => {
    const falling = course(80, (step) => (step < 41 ? 0.2 + step / 100 : 0.45) + noise(step))
    assert.deepStrictEqual(names({ trainer: { "reward/mean": falling } }), ["fall"])
    const wild = course(80, (step) => 0.5 + 0.4 * Math.sin(step * 2.4))
    assert.deepStrictEqual(names({ trainer: { "reward/mean": wild } }), [])
    assert.deepStrictEqual(names({ trainer: { "reward/mean": [1, 0] } }), [])
  })

  it("judges the environments' scores where no trainer tells a reward", () => {
    const scores = course(60, (step) => (step < 31 ? 0.8 : 0) + noise(step))
    const [collapse] = found({ math_0: { "train/scores_mean": scores } })
    assert.deepStrictEqual([collapse?.rule, collapse?.source, collapse?.from], ["collapse", "math_0", 31])
  })

  it("names the steps without numbers", () => {
    const loss = course(40, (step) => (step === 7 || step === 19 ? Number.NaN : 0.1))
    const norm = course(40, (step) => (step === 31 ? Number.POSITIVE_INFINITY : 1))
    const [finding, ...others] = found({ trainer: { "train/loss": loss, "train/grad_norm": norm } })
    assert.deepStrictEqual(others, [])
    assert.deepStrictEqual(finding!.steps, [7, 19, 31])
    assert.include(finding!.message, "steps 7, 19 and 31")
    assert.deepStrictEqual(
      names({ trainer: { "train/skipped_not_finite": course(3, (step) => (step === 2 ? 1 : 0)) } }),
      ["not_finite"]
    )
  })

  it("finds environments from which there is nothing to learn, and those that say nothing", () => {
    const [same, ...others] = found({
      maze_0: {
        "train/percent_identical": course(40, (step) => (step < 12 ? 0.3 : 1)),
        "train/scores_mean": course(40, () => 0)
      },
      math_0: { "train/percent_identical": course(40, () => 0.3), "train/scores_mean": course(40, () => 0.5) }
    })
    assert.deepStrictEqual(others, [])
    assert.deepStrictEqual([same!.rule, same!.source, same!.from], ["stuck", "maze_0", 12])
    assert.include(same!.message, "mean score is 0")
    const [silent] = found({
      maze_0: { "train/items_sent_to_api": course(40, (step) => (step < 12 ? 4 : 0)) },
      math_0: { "train/items_sent_to_api": course(40, () => 4) }
    })
    assert.deepStrictEqual([silent!.rule, silent!.source, silent!.from], ["stuck", "maze_0", 11])
    assert.deepStrictEqual(names({ maze_0: { "train/items_sent_to_api": course(40, () => 0) } }), [])
  })

  it("finds scores outside of the range that an environment claims, from the first on and until they are over", () => {
    const shares = (share: (step: number) => number, steps = 40) =>
      found({ maze_0: { "train/out_of_range_fraction": course(steps, share) } })
    const [bonus, ...others] = shares((step) => (step < 12 ? 0 : 0.25))
    assert.deepStrictEqual(others, [])
    assert.deepStrictEqual([bonus!.rule, bonus!.source, bonus!.from, bonus!.to], ["out_of_range", "maze_0", 12, 40])
    assert.include(bonus!.message, "25% of the latest scores of maze_0 are outside the range it claims, since step 12")
    assert.strictEqual(shares(() => 0.5, 3).length, 1)
    assert.deepStrictEqual(
      shares((step) => (step < 12 ? 0.25 : 0)),
      []
    )
  })

  it("finds no learning rate too high where hardly an answer ended by itself from the start", () => {
    const judged = (truncated: number) =>
      names({
        trainer: {
          "reward/mean": course(40, (step) => (step <= 10 ? 0.04 : 0.004)),
          "reward/std": course(40, () => 0.1),
          "batch/sequences": course(40, () => 128),
          "batch/truncated_fraction": course(40, () => truncated),
          "grpo/entropy": course(40, (step) => (step <= 10 ? 0.2 : 1.5))
        }
      })
    assert.include(judged(0.2), "learning_rate")
    assert.notInclude(judged(0.99), "learning_rate")
  })

  it("tells a component that is had by length from one that is earned", () => {
    const lengths = course(60, (step) => 50 + 3 * step)
    const thorough = course(60, (step) => (50 + 3 * step) / 400 + noise(step))
    const flat = course(60, (step) => 0.5 + noise(step))
    const [hacked] = found({
      essay_0: { "train/completion_lengths": lengths, "reward/thorough": thorough, "reward/correct": flat }
    }).filter(({ rule }) => rule === "length_hacking")
    assert.deepStrictEqual([hacked?.component, hacked?.source], ["thorough", "essay_0"])
    assert.notInclude(
      names({
        essay_0: { "train/completion_lengths": lengths, "reward/thorough": thorough, "reward/correct": thorough }
      }),
      "length_hacking"
    )
  })

  it("sees entropy, divergence, gradient, mismatch, length, truncation and idle steps", () => {
    const late = (before: number, after: number) => course(60, (step) => (step <= 40 ? before : after))
    const trainer = (metrics: { readonly [metric: string]: Values }) => names({ trainer: metrics })
    assert.deepStrictEqual(trainer({ "grpo/entropy": late(0.6, 0.05) }), ["entropy_low"])
    assert.deepStrictEqual(trainer({ "grpo/entropy": late(0.6, 3) }), ["entropy_high"])
    assert.deepStrictEqual(trainer({ "grpo/kl": late(0.01, 0.4) }), ["divergence"])
    assert.deepStrictEqual(trainer({ "alignment/on_policy_diff": late(0.01, 0.1) }), ["mismatch"])
    // Weights of 8 bits cost that much, as the first step measured; beyond twice that the two have drifted apart.
    const int8 = { "alignment/max_mismatch": late(0.2, 0.15) }
    assert.deepStrictEqual(trainer({ ...int8, "alignment/on_policy_diff": late(0.07, 0.1) }), [])
    assert.deepStrictEqual(trainer({ ...int8, "alignment/on_policy_diff": late(0.07, 0.2) }), ["mismatch"])
    assert.deepStrictEqual(trainer({ "train/grad_norm": course(60, (step) => (step === 50 ? 90 : 1)) }), ["gradient"])
    assert.deepStrictEqual(trainer({ "train/skipped": late(0, 1) }), ["skipped"])
    assert.deepStrictEqual(trainer({ "batch/groups": late(8, 8), "batch/zero_variance_groups": late(1, 8) }), [
      "identical"
    ])
    assert.deepStrictEqual(names({ math_0: { "train/completion_lengths": late(100, 20) } }), ["length"])
    assert.deepStrictEqual(names({ math_0: { "train/truncated_fraction": late(0, 0.5) } }), ["truncation"])
  })

  it("takes no short answers that settle for one of the reference's for a policy far from it", () => {
    const kl = { "grpo/kl": course(60, (step) => (step <= 40 ? 0.01 : 0.4)) }
    const found = (...lengths: ReadonlyArray<number>) =>
      names({
        trainer: kl,
        ...Object.fromEntries(
          lengths.map((tokens, index) => [`env_${index}`, { "train/completion_lengths": course(60, () => tokens) }])
        )
      })
    assert.deepStrictEqual(found(), ["divergence"])
    assert.deepStrictEqual(found(2), [])
    assert.deepStrictEqual(found(14), [])
    assert.deepStrictEqual(found(20), ["divergence"])
    assert.deepStrictEqual(found(2, 20), ["divergence"])
  })

  it("names truncation before the steps that it made useless, while an environment's rows are fewer", () => {
    const cards = (rows: number) =>
      Health.cards(
        Health.judge(
          recorded({
            trainer: {
              "train/skipped": course(10, () => 1),
              "batch/groups": course(10, () => 8),
              "batch/zero_variance_groups": course(10, () => 8),
              "batch/truncated_fraction": course(10, () => 1)
            },
            math_0: { "train/truncated_fraction": course(rows, () => 1) }
          })
        )
      ).map(({ cause }) => cause.rule)
    assert.deepStrictEqual(cards(9), ["truncation"])
    assert.deepStrictEqual(cards(10), ["truncation"])
  })

  it("leaves shorter completions alone where the reward rises with them, and longer ones not", () => {
    const run = (lengths: Values, reward: (step: number) => number) =>
      names({
        trainer: { "reward/mean": course(60, reward) },
        math_0: { "train/completion_lengths": lengths, "train/scores_mean": course(60, reward) }
      })
    const shorter = course(60, (step) => 12 - step / 6)
    assert.deepStrictEqual(
      run(shorter, (step) => step / 80),
      []
    )
    assert.deepStrictEqual(
      run(shorter, (step) => 0.2 + (step % 2) / 50),
      ["length"]
    )
    assert.include(
      run(
        course(60, (step) => 5 + step),
        (step) => step / 80
      ),
      "length"
    )
  })

  it("takes a policy for learned where its reward has risen and it is not told what is solved", () => {
    const entropy = course(60, (step) => (step <= 40 ? 0.6 : 0.05))
    const risen = course(60, (step) => 0.2 + Math.min(40, step) / 80 + noise(step))
    assert.deepStrictEqual(names({ trainer: { "grpo/entropy": entropy, "reward/mean": risen } }), [])
    const flat = course(60, (step) => 0.2 + noise(step))
    assert.deepStrictEqual(names({ trainer: { "grpo/entropy": entropy, "reward/mean": flat } }), ["entropy_low"])
    // A reward that calls whatever is above 0 solved says nothing by that.
    const all = { "reward/solved_fraction": course(60, () => 1) }
    assert.deepStrictEqual(names({ trainer: { ...all, "grpo/entropy": entropy, "reward/mean": flat } }), [
      "entropy_low"
    ])
  })

  it("does not count steps that had nothing to teach because all of it was learned", () => {
    const skipped = course(40, (step) => (step <= 20 ? 0 : 1))
    const trainer = (share: number, identical: number) => ({
      "train/skipped": skipped,
      "batch/groups": course(40, () => 8),
      "batch/zero_variance_groups": course(40, (step) => (step <= 20 ? 1 : identical)),
      "reward/mean": course(40, () => share),
      "reward/solved_fraction": course(40, () => share)
    })
    assert.deepStrictEqual(names({ trainer: trainer(0.99, 8) }), [])
    assert.deepStrictEqual(names({ trainer: trainer(0.1, 8) }), ["skipped", "identical"])
    // Not for what was solved: all too old, say.
    assert.deepStrictEqual(names({ trainer: trainer(0.99, 2) }), ["skipped"])
  })

  it("tells an environment whose groups are dropped for being right from one that hangs", () => {
    const sent = course(40, (step) => (step < 12 ? 4 : 0))
    const solved = (rows: number) => ({
      "train/items_sent_to_api": sent,
      "train/percent_identical": course(rows, () => 1),
      "train/solved_fraction": course(rows, () => 1)
    })
    const other = { "train/items_sent_to_api": course(40, () => 4) }
    assert.deepStrictEqual(names({ maze_0: solved(40), math_0: other }), [])
    assert.deepStrictEqual(names({ maze_0: solved(11), math_0: other }), ["stuck"])
  })

  it("takes no mistake of a run that is learned out for a jump of its gradient", () => {
    const norm = (last: number) => course(100, (step) => (step <= 50 ? 1 : step === 90 ? last : 0.01))
    assert.deepStrictEqual(names({ trainer: { "train/grad_norm": norm(0.8) } }), [])
    assert.deepStrictEqual(names({ trainer: { "train/grad_norm": norm(8) } }), ["gradient"])
  })

  it("says that answers are cut off before it says that scores are equal, from the first ten rows on", () => {
    const math_0 = {
      "train/truncated_fraction": course(10, () => 0.84),
      "train/percent_identical": course(10, () => 1)
    }
    const [first, ...others] = found({ math_0 })
    assert.deepStrictEqual([first!.rule, first!.severity], ["truncation", "broken"])
    assert.match(first!.message, /^84% of the answers were truncated at the token limit \(raise max_token_length/)
    assert.deepStrictEqual(
      others.map(({ rule }) => rule),
      ["stuck"]
    )
  })

  it("judges truncation by the trainer's figure where no environment tells it", () => {
    const cut = course(40, () => 0.5)
    assert.deepStrictEqual(names({ trainer: { "batch/truncated_fraction": cut } }), ["truncation"])
    const math_0 = { "train/truncated_fraction": course(40, () => 0.1) }
    assert.deepStrictEqual(names({ trainer: { "batch/truncated_fraction": cut }, math_0 }), [])
  })

  it("goes by what was told last of a step, and of each metric alone", () => {
    const { recorded, see } = Health.recorder()
    for (const step of [1, 2, 3, 2]) see("trainer", step, { "train/loss": 10 * step })
    see("trainer", 1, { "eval/mean_score": 1 })
    assert.deepStrictEqual(recorded.points("trainer", "train/loss"), { steps: [1, 2], values: [10, 20] })
    assert.deepStrictEqual(recorded.names(), ["train/loss", "eval/mean_score"])
    assert.deepStrictEqual(recorded.sourcesOf("train/loss"), ["trainer"])
    assert.deepStrictEqual(recorded.points("math_0", "train/loss"), { steps: [], values: [] })
  })

  it("judges ten thousand steps in linear time", () => {
    const judging = (steps: number) => {
      const long = course(steps, (step) => 0.5 + noise(step))
      const all = recorded({
        trainer: { "reward/mean": long, "train/loss": long, "train/grad_norm": long, "grpo/entropy": long },
        math_0: {
          "train/completion_lengths": long,
          "train/percent_identical": long,
          "reward/a": long,
          "reward/b": long
        }
      })
      return () => Health.judge(all)
    }
    // A comparison of every step with every other would be a hundred million.
    assert.isTrue(Growth.isLinear(10_000, judging))
  })
})
