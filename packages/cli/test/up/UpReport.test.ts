/** The lines that `up` ends with fit what was run. */
import { assert, describe, it } from "@effect/vitest"
import * as UpReport from "../../src/up/UpReport.ts"

const lines = (ran: Partial<UpReport.Ran>): string =>
  UpReport.next({
    policy: undefined,
    words: [],
    evaluated: [],
    isSupervised: false,
    hasFindings: false,
    hasLearned: true,
    ...ran
  })
    .map(([line]) => line)
    .join("\n")

const config = "run/env.yaml"

describe("next:", () => {
  it("serves what was trained and evaluates what has held-out items, each under its own name", () => {
    const words = ["gsm8k", "./mine.ts", "./bare.ts"]
    const evaluated = [
      { word: "gsm8k", config },
      { word: "./mine.ts", config: "run/mine.yaml" }
    ]
    const said = lines({ policy: "--model run/last", words, evaluated })
    assert.match(said, /policy --model run\/last/)
    assert.match(said, /evaluate --env gsm8k --config run\/env\.yaml/)
    assert.match(said, /evaluate --env \.\/mine\.ts --config run\/mine\.yaml/)
    assert.notInclude(said, "bare.ts")
  })

  it("offers no policy, and nothing that needs one, where the weights are elsewhere", () => {
    const said = lines({ words: ["gsm8k"], evaluated: [{ word: "gsm8k", config }] })
    assert.notMatch(said, /policy|evaluate/)
  })

  it("merges what supervised steps trained, for rewards to begin from", () => {
    const policy = "--model base --adapter run/step_4"
    assert.match(lines({ policy, isSupervised: true }), /merge merged --model base --adapter run\/step_4/)
    assert.notMatch(lines({ policy }), /merge/)
  })

  it("sends who has an environment to what raises its reward, and others to environments", () => {
    const own = lines({ words: ["./mine.ts"] })
    assert.match(own, /reward-does-not-rise/)
    assert.notMatch(own, /writing-an-environment|\benvs\b|addition/)
    const others = lines({ words: ["gsm8k"] })
    assert.match(others, /\benvs\b[^]*writing-an-environment/)
    assert.notMatch(others, /reward-does-not-rise|addition/)
  })

  it("names a harder task after the easiest alone, where that was learned and nothing was found", () => {
    const easiest = { words: ["sort-letters"] }
    assert.match(lines(easiest), /up --env addition/)
    assert.notMatch(lines({ words: ["addition"] }), /up --env addition/)
    assert.notMatch(lines({ ...easiest, hasLearned: false }), /up --env addition/)
    const found = lines({ ...easiest, hasFindings: true })
    assert.notMatch(found, /up --env addition/)
    assert.match(found, /troubleshooting/)
  })
})

describe("the figure of a run", () => {
  it("is the reward with its best step, or the loss of supervised steps", () => {
    const rewards = [0, 0.5, 1, 0.75]
    assert.deepStrictEqual(UpReport.figureOf({ losses: rewards.map(() => undefined), rewards }, 4)[0], [
      "mean reward",
      "0.250 at the start, 0.875 at the end; best 0.875 at step 4 (means of 2 steps)"
    ])
    assert.deepStrictEqual(UpReport.figureOf({ losses: [0.5, 0.25], rewards: [1, 1] }, 2)[0], [
      "loss",
      "0.500 at the start, 0.250 at the end"
    ])
  })
})
