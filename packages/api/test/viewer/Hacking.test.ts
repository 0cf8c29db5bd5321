import { assert, describe, it } from "@effect/vitest"
import * as Growth from "../../../core/test/base/Growth.ts"
import * as Ngrams from "../../viewer/src/hacking/Ngrams.ts"
import * as Signs from "../../viewer/src/hacking/Signs.ts"
import type * as Wire from "../../viewer/src/source/Wire.ts"

const row = (
  step: number,
  place: number,
  scores: ReadonlyArray<number>,
  lengths: ReadonlyArray<number>,
  answers: ReadonlyArray<string>
) => ({
  id: String(step * 10 + place),
  environment: "math",
  env_id: 0,
  step,
  state: "consumed" as const,
  created_at: step,
  sequences: scores.length,
  tokens: 10,
  scores,
  policy_step: step - 1,
  preview: null,
  item_id: `item ${place}`,
  figures: {
    prompt: null,
    length: 1,
    longest_best: 1,
    truncated: 0,
    tool_errors: 0,
    surprise: null,
    surprise_best: null,
    components: {},
    lengths,
    answers
  }
})

const stepsOf = (count: number, of: (step: number) => ReadonlyArray<Wire.RolloutRow>): ReadonlyArray<Wire.RolloutRow> =>
  Array.from({ length: count }, (_, at) => of(at + 1))
    .flat()
    .toReversed()

describe("Signs", () => {
  it("see that the longer answer of a group scores higher, whatever the length of its item", () => {
    const rows = stepsOf(30, (step) => [
      row(step, 0, step < 15 ? [1, 0, 0, 1] : [0, 0, 1, 1], [10, 11, 12, 13], ["a", "b", "c", "d"]),
      row(step, 1, step < 15 ? [0, 1, 1, 0] : [0, 0, 1, 1], [500, 501, 502, 503], ["e", "f", "g", "h"])
    ])
    const table = Signs.tableOf(rows)
    const [found, ...others] = Signs.find(table)
    assert.deepStrictEqual(others, [])
    assert.strictEqual(found?.title, "Longer answers score higher")
    assert.strictEqual(found?.environment, "math")
    assert.strictEqual(found?.from, 15)
    assert.match(found!.says, /correlation 0\.89, 0\.00 at first \(since step 15\)/)
  })

  it("see answers that repeat within a group, and one that is given to every item", () => {
    const rows = stepsOf(30, (step) =>
      [0, 1].map((place) =>
        row(step, place, [0, 1], [1, 1], step < 15 ? [`${step}a${place}`, `${step}b${place}`] : ["same", "same"])
      )
    )
    const found = Signs.find(Signs.tableOf(rows)).map(({ from, sign }) => [sign, from])
    assert.deepStrictEqual(found, [
      ["repeated", 15],
      ["commonest", 15]
    ])
  })

  it("see nothing where scores are alike, nothing is read yet, or nobody knows steps", () => {
    const flat = stepsOf(30, (step) => [row(step, 0, [1, 1], [1, 9], ["a", `${step}`])])
    assert.deepStrictEqual(Signs.find(Signs.tableOf(flat)), [])
    assert.deepStrictEqual(Signs.find(Signs.tableOf(flat.map((one) => ({ ...one, figures: null })))), [])
    const files = flat.map((one) => ({ ...one, step: null }))
    assert.deepStrictEqual(Signs.tableOf(files).steps(), { first: 1, last: 30 })
  })
})

/** Finds the phrases of so many long answers. */
const findingIn = (answers: number) => {
  const long = Array.from({ length: answers }, (_, at): Ngrams.Answer => {
    const text = Array.from({ length: 800 }, (_, word) => `w${(word * 7 + at * 13) % 997}`).join(" ")
    return { text, isBetter: at % 2 === 0, isLate: at >= answers / 2 }
  })
  return () => Ngrams.find(long)
}

describe("Ngrams", () => {
  const answers = Array.from({ length: 80 }, (_, at): Ngrams.Answer => {
    const isBetter = at % 2 === 0
    const isLate = at >= 40
    const text = `step ${at} of the proof${isBetter && isLate ? ", as any expert would say" : ""}.`
    return { text, isBetter, isLate }
  })

  it("are phrases that better answers have, whole and not in pieces", () => {
    const [first] = Ngrams.find(answers)
    assert.deepInclude(first, {
      text: "of the proof as any expert would say",
      better: 0.5,
      worse: 0,
      early: 0,
      late: 0.5
    })
    assert.notInclude(
      Ngrams.find(answers).map(({ text }) => text),
      "expert would"
    )
  })

  it("are none where better and other answers say the same", () => {
    assert.deepStrictEqual(Ngrams.find(answers.map((answer, at) => ({ ...answer, isBetter: at % 4 < 2 }))), [])
    assert.deepStrictEqual(Ngrams.find([]), [])
  })

  it("take linear time where answers are long", () => {
    assert.isTrue(Growth.isLinear(320, findingIn))
  })
})
