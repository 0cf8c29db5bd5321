/** Graders that break are told from policies that learn, whichever way their scores go. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Health from "../../src/health/Health.ts"
import * as SimulatedRun from "./SimulatedRun.ts"

const part = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))
const Drawn = Schema.Struct({
  seed: Schema.Int,
  breaksAt: Schema.Int.check(Schema.isBetween({ minimum: 12, maximum: 80 })),
  groups: Schema.Int.check(Schema.isBetween({ minimum: 8, maximum: 32 })),
  size: Schema.Literals([8, 16]),
  level: part
})

/** Learns from a level that leaves room above and below it; from a step on its grader gives other scores. */
const broken = (
  { breaksAt, level, ...drawn }: typeof Drawn.Type,
  grade: NonNullable<SimulatedRun.SimulatedRun["grade"]>
) =>
  SimulatedRun.record({
    ...drawn,
    steps: breaksAt + 30,
    right: (step) => Math.min(0.75, 0.3 + 0.2 * level + step / 300),
    entropy: (step) => 0.7 - step / 400,
    grade: (isRight, step, draw) => (step < breaksAt ? Number(isRight) : grade(isRight, step, draw))
  })

const causes = (recorded: Health.Recorded) => Health.cards(Health.judge(recorded)).map(({ cause }) => cause)

const isFoundAt = (recorded: Health.Recorded, breaksAt: number) => {
  const [first, ...others] = causes(recorded)
  assert.strictEqual(first?.rule, "grader")
  assert.approximately(first!.from, breaksAt, 1)
  assert.strictEqual(first!.severity, "broken")
  assert.isTrue(Health.isInDoubt(recorded, "trainer"))
  assert.isTrue(Health.isInDoubt(recorded, "math_0"))
  return { first: first!, others }
}

/** A grader that gives everything full marks for twenty steps. */
const mended = (steps: number) =>
  SimulatedRun.record({
    seed: 3,
    steps,
    groups: 16,
    size: 8,
    right: () => 0.4,
    entropy: () => 0.5,
    grade: (isRight, step) => (step >= 40 && step < 60 ? 1 : Number(isRight))
  })

/** A reward that rises quickly around step 32, and small noise. */
const rise = (step: number) => 0.15 + 0.4 / (1 + Math.exp(-(step - 32) / 2.5))
const wave = (step: number) => 0.015 * Math.sin(2.4 * step)

const halved = (isRight: boolean): number => (isRight ? 0.5 : 0)

describe("a grader that breaks at a step", () => {
  it.prop(
    "and gives everything full marks is one card, and nothing is solved by it",
    [Drawn],
    ([drawn]) => {
      const { first, others } = isFoundAt(
        broken(drawn, () => 1),
        drawn.breaksAt
      )
      assert.match(first.message, /^All scores of math_0 are 1 since step \d+, 0\.\d+ before: .*check the grader/)
      assert.deepStrictEqual(others, [])
      for (const { message: says } of Health.judge(broken(drawn, () => 1))) assert.notInclude(says, "are solved")
    },
    SimulatedRun.few
  )

  it.prop(
    "is found where a row covers groups from before and after",
    [Drawn],
    ([drawn]) => {
      for (const score of [0, 1]) {
        isFoundAt(
          broken(drawn, (isRight, step, draw) => (step > drawn.breaksAt || draw() < 0.5 ? score : Number(isRight))),
          drawn.breaksAt
        )
      }
    },
    SimulatedRun.few
  )

  it("is found where a row of both covers few groups, whose mean is noisy", () => {
    const drawn = { seed: 0, breaksAt: 72, groups: 9, size: 8, level: 0 } as const
    for (const score of [0, 1]) {
      const { others } = isFoundAt(
        broken(drawn, (isRight, step, draw) => (step > 72 || draw() < 0.5 ? score : Number(isRight))),
        72
      )
      assert.deepStrictEqual(others, [])
    }
  })

  it.prop(
    "and gives everything nothing is one card",
    [Drawn],
    ([drawn]) => {
      const { first, others } = isFoundAt(
        broken(drawn, () => 0),
        drawn.breaksAt
      )
      assert.match(first.message, /^All scores of math_0 are 0 since step/)
      assert.deepStrictEqual(others, [])
    },
    SimulatedRun.few
  )

  it.prop(
    "and adds a bonus is found",
    [Drawn],
    ([drawn]) => {
      // Of fewer than 128 answers a step, chance alone moves the mean by a fifth of the bonus.
      const steady = { ...drawn, groups: Math.max(16, drawn.groups) }
      isFoundAt(
        broken(steady, (isRight) => Number(isRight) + 0.5),
        drawn.breaksAt
      )
    },
    SimulatedRun.few
  )

  it.prop(
    "and never gives full marks again is found by the share that counts as solved",
    [Drawn],
    ([drawn]) => {
      const steady = { ...drawn, groups: 64, level: 0.5 }
      isFoundAt(broken(steady, halved), drawn.breaksAt)
      const { first } = isFoundAt(broken({ ...steady, breaksAt: 40 }, halved), 40)
      assert.match(first.message, /^The solved share of math_0 went from \d+(\.\d+)?% to 0% at step 40, in one step/)
    },
    SimulatedRun.few
  )

  it("and inverts its scores is found, also when the policy has learned to be wrong since", () => {
    for (const level of [0.25, 0.8]) {
      const run = SimulatedRun.record({
        seed: 1,
        steps: 200,
        groups: 16,
        size: 8,
        right: (step) => (step < 60 ? level : level * Math.exp(-(step - 60) / 30)),
        entropy: () => 0.5,
        grade: (isRight, step) => Number(step < 60 ? isRight : !isRight)
      })
      assert.strictEqual(causes(run)[0]?.rule, "grader")
      assert.approximately(causes(run)[0]!.from, 60, 1)
    }
  })

  it("and inverts its scores is found where training learns them within five steps", () => {
    // As a run from scratch did it: 0.82, then 0.17, 0.15, 0.34, 0.53, 0.5, 0.84, and all that is wrong from there on.
    const since = [0.83, 0.85, 0.66, 0.47, 0.5, 0.16, 0.07, 0.07]
    const run = SimulatedRun.record({
      seed: 1,
      steps: 60,
      groups: 16,
      size: 8,
      right: (step) => (step < 26 ? Math.min(0.83, 0.2 + step / 25) : (since[step - 26] ?? 0.01)),
      entropy: (step) => (step < 26 ? 0.6 - step / 65 : 0.23 + (step - 26) / 100),
      grade: (isRight, step) => Number(step < 26 ? isRight : !isRight)
    })
    const { first, others } = isFoundAt(run, 26)
    assert.match(first.message, /^Scores of math_0 went from 0\.\d+ to 0\.2\d+ at step 26, in one step/)
    assert.deepStrictEqual(others, [])
  })

  it.prop(
    "is one card in a run that was learned out before, whose scores were alike and whose entropy was gone",
    [Schema.Int, Schema.Literals([0, 1])],
    ([seed, given]) => {
      const run = SimulatedRun.record({
        seed,
        steps: 90,
        groups: 16,
        size: 8,
        right: (step) => 1 - 0.7 * Math.exp(-step / 8),
        entropy: (step) => 0.02 + 0.6 * Math.exp(-step / 10),
        // Inverted, or 0 for all: what was right is wrong.
        grade: (isRight, step) => (step < 70 ? Number(isRight) : isRight ? 0 : given)
      })
      const { others } = isFoundAt(run, 70)
      assert.deepStrictEqual(others, [])
    }
  )

  it("and is mended by another step is no finding any more", () => {
    assert.deepStrictEqual(
      causes(mended(59)).map(({ rule }) => rule),
      ["grader"]
    )
    assert.notInclude(
      causes(mended(90)).map(({ rule }) => rule),
      "grader"
    )
    assert.isFalse(Health.isInDoubt(mended(90), "trainer"))
  })

  it("is none where rows of few groups jump, and the trainer's reward rises as a policy learns", () => {
    const { recorded, see } = Health.recorder()
    for (let step = 1; step <= 60; step++) {
      const score = step < 32 ? Math.min(rise(step), 0.18) : Math.max(rise(step), 0.45)
      see("math_0", step, { "train/scores_mean": score + wave(step), "train/scores_std": 0.4 })
      see("trainer", step, { "reward/mean": rise(step) + wave(step), "grpo/entropy": 0.6 - step / 400 })
    }
    assert.deepStrictEqual(causes(recorded), [])
    // The same rows are a finding where the reward jumps with them, two steps later.
    const jumping = Health.recorder()
    for (let step = 1; step <= 60; step++) {
      const score = (at: number) => (at < 32 ? Math.min(rise(at), 0.18) : Math.max(rise(at), 0.45))
      jumping.see("math_0", step, { "train/scores_mean": score(step) + wave(step), "train/scores_std": 0.4 })
      const late = { "reward/mean": score(step - 2) + wave(step), "grpo/entropy": 0.6 - step / 400 }
      jumping.see("trainer", step, late)
    }
    assert.deepStrictEqual(
      causes(jumping.recorded).map(({ from, rule }) => [rule, from]),
      [["grader", 32]]
    )
  })

  it("is found in a mixture where the answers of another environment are cut from that step on", () => {
    const { recorded, see } = Health.recorder()
    for (let step = 1; step <= 60; step++) {
      const isBroken = step >= 30
      const cut = isBroken ? 0.9 : 0.02
      see("math_0", step, {
        "train/scores_mean": isBroken ? 1 : 0.4 + wave(step),
        "train/scores_std": isBroken ? 0 : 0.49,
        "train/truncated_fraction": 0.02
      })
      see("stories_0", step, {
        "train/scores_mean": isBroken ? 0.05 + wave(step) : 0.5 + wave(step),
        "train/scores_std": isBroken ? 0.2 : 0.5,
        "train/truncated_fraction": cut
      })
      see("trainer", step, {
        "reward/mean": 0.45 + wave(step),
        "grpo/entropy": 0.6 - step / 400,
        "batch/truncated_fraction": (0.02 + cut) / 2
      })
    }
    const found = Health.judge(recorded).filter(({ rule }) => rule === "grader")
    assert.deepStrictEqual(
      found.map(({ from, source }) => [source, from]),
      [["math_0", 30]]
    )
  })

  it("is none where the policy changed with its scores", () => {
    const run = SimulatedRun.record({
      seed: 3,
      steps: 60,
      groups: 16,
      size: 8,
      right: (step) => (step < 30 ? 0.6 : 0),
      entropy: (step) => (step < 30 ? 0.6 : 2.2)
    })
    assert.notInclude(
      causes(run).map(({ rule }) => rule),
      "grader"
    )
  })
})

/** Half of the answers are right at every step; the grader breaks at one. */
const halfRight = (breaksAt: number, seed: number, grade: NonNullable<SimulatedRun.SimulatedRun["grade"]>) =>
  SimulatedRun.record({
    seed,
    steps: 60,
    groups: 16,
    size: 8,
    spread: 1,
    right: () => 0.5,
    entropy: (step) => 0.6 - step / 400,
    grade: (isRight, step, draw) => (step < breaksAt ? Number(isRight) : grade(isRight, step, draw))
  })

describe("a grader that breaks where half is solved, and no score jumps", () => {
  const broken = [
    [
      "inverted",
      (isRight: boolean) => Number(!isRight),
      "broken",
      /score less than the others since step \d+: .* inverted/
    ],
    [
      "a coin",
      (_: boolean, __: number, draw: () => number) => Number(draw() < 0.5),
      "suspect",
      /score no better than the others since step \d+: .* random/
    ]
  ] as const
  for (const [name, grade, severity, says] of broken) {
    it.prop(
      `is found by what right answers earn, in one card: ${name}`,
      [Schema.Int],
      ([seed]) => {
        for (const breaksAt of [1, 30]) {
          const run = halfRight(breaksAt, seed, grade)
          const [first, ...others] = causes(run)
          assert.deepStrictEqual([first?.rule, first?.severity, others], ["expected", severity, []])
          assert.match(first!.message, says)
          assert.isAtLeast(first!.from, breaksAt - 4)
          assert.isTrue(Health.isInDoubt(run, "trainer"))
        }
      },
      SimulatedRun.few
    )
  }

  it.prop(
    "is not seen in one that gives nearly as much for a near miss",
    [Schema.Int],
    ([seed]) => {
      const run = halfRight(1, seed, (isRight, _, draw) => (isRight ? 1 : draw() < 0.02 ? 0 : 0.95))
      assert.notInclude(
        causes(run).map(({ rule }) => rule),
        "expected"
      )
    },
    SimulatedRun.few
  )
})

/** Figures of sources over so many steps. */
const recorded = (steps: number, sources: { readonly [source: string]: { readonly [metric: string]: number } }) => {
  const { recorded, see } = Health.recorder()
  for (let step = 1; step <= steps; step++) {
    for (const [source, figures] of Object.entries(sources)) see(source, step, figures)
  }
  return { recorded, see }
}

describe("held-out items", () => {
  const found = (trained: number, held: number, more: { readonly [metric: string]: number } = {}) => {
    const run = recorded(40, { math_0: { "train/solved_fraction": trained } })
    run.see("math", 40, { "eval/percent_correct": held, ...more })
    return Health.judge(run.recorded).map(({ rule, severity }) => [rule, severity])
  }

  it("are the cause of what the scores brought before they were asked", () => {
    const figures = { "batch/groups": 16, "batch/zero_variance_groups": 15, "reward/solved_fraction": 0.95 }
    const run = recorded(40, { math_0: { "train/solved_fraction": 0.95 }, trainer: figures })
    run.see("math", 40, { "eval/percent_correct": 0.03 })
    const [card, ...others] = Health.cards(Health.judge(run.recorded))
    assert.strictEqual(card?.cause.rule, "held_out")
    assert.deepStrictEqual(
      card!.consequences.map(({ rule }) => rule),
      ["identical"]
    )
    assert.deepStrictEqual(others, [])
  })

  it("contradict a training reward that is far above or below them", () => {
    assert.deepStrictEqual(found(0.95, 0.4), [["held_out", "suspect"]])
    assert.deepStrictEqual(found(0, 0.62), [["held_out", "broken"]])
  })

  it("do not where they are near, greedy where training is sampled, or too few to tell", () => {
    assert.deepStrictEqual(found(0.95, 0.9), [])
    assert.deepStrictEqual(found(0.45, 0.8), [])
    assert.deepStrictEqual(found(0.02, 0.05), [])
    assert.deepStrictEqual(found(0.95, 0.5, { "eval/percent_correct_ci_high": 0.9 }), [])
  })
})

describe("equal answers", () => {
  it("with other scores are a grader that tosses coins, and a judge's few are none", () => {
    const found = (share: number) =>
      Health.judge(recorded(12, { math_0: { "train/contradicting_fraction": share } }).recorded).map(({ rule }) => rule)
    assert.deepStrictEqual(found(0.5), ["contradictions"])
    assert.deepStrictEqual(found(0.05), [])
  })
})

describe("items that fail", () => {
  const failing = (share: number, steps = 12) => {
    const { recorded: figures } = recorded(steps, { math_0: { "train/failed_fraction": share } })
    const errors = [{ environment: "math_0", message: "429 Too Many Requests" }]
    const activity = { state: "running" as const, idleSeconds: 1, reason: null, environment: null, errors }
    return Health.judge({ ...figures, activity: () => activity })
  }

  it("are told with the reason of the last one, soon", () => {
    const [finding, ...others] = failing(0.75)
    assert.deepStrictEqual(others, [])
    assert.deepStrictEqual([finding!.rule, finding!.severity], ["failures", "broken"])
    assert.strictEqual(
      finding!.message,
      "75% of the rollouts of math_0 fail since step 1; last error: 429 Too Many Requests."
    )
    assert.strictEqual(failing(0.75, 3).length, 1)
    assert.strictEqual(failing(0.25)[0]?.severity, "suspect")
    assert.deepStrictEqual(failing(0.05), [])
  })
})
