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

const titles = (rows: ReadonlyArray<Wire.RolloutRow>) => Signs.find(Signs.tableOf(rows)).map(({ title }) => title)

const inverted = (isRight: boolean): number => (isRight ? 0 : 1)

const coin = (_: boolean, at: number): number => (at * 7919) % 2

describe("Signs", () => {
  it("see that the longer answer of a group scores higher, whatever the length of its item", () => {
    const rows = stepsOf(30, (step) => [
      row(
        step,
        0,
        step < 15 ? [1, 0, 0, 1] : [0, 0, 1, 1],
        [10, 11, 12, 13],
        ["a", "b", "c", "d"].map((answer) => answer + step)
      ),
      row(
        step,
        1,
        step < 15 ? [0, 1, 1, 0] : [0, 0, 1, 1],
        [500, 501, 502, 503],
        ["e", "f", "g", "h"].map((answer) => answer + step)
      )
    ])
    const table = Signs.tableOf(rows)
    const [found, ...others] = Signs.find(table)
    assert.deepStrictEqual(others, [])
    assert.strictEqual(found?.title, "Longer answers score higher")
    assert.strictEqual(found?.environment, "math")
    assert.strictEqual(found?.from, 15)
    assert.match(
      found!.message,
      /correlation 0\.89, 0\.00 at first; answers have 257 tokens, 257 at first \(since step 15\)/
    )
  })

  it("see answers that repeat within a group and are not the best, and one that is given to every item", () => {
    const rows = stepsOf(30, (step) =>
      [0, 1].map((place) =>
        row(
          step,
          place,
          [0, 0, 1, 0],
          [20, 20, 20, 20],
          step < 15
            ? ["a", "b", "c", "d"].map((answer) => `${step}${answer}${place}`)
            : ["same", "same", `${step}`, "same"]
        )
      )
    )
    const found = Signs.find(Signs.tableOf(rows)).map(({ from, sign }) => [sign, from])
    assert.deepStrictEqual(found, [
      ["repeated", 15],
      ["commonest", 15]
    ])
  })

  it("see nothing in a task of short answers that is learned", () => {
    // Of each item one answer is right; more and more rollouts give it, word for word.
    const learned = stepsOf(60, (step) =>
      [0, 1, 2, 3].map((place) => {
        const right = Math.min(8, Math.floor(step / 6))
        const scores = Array.from({ length: 8 }, (_, at) => (at < right ? 1 : 0))
        const answers = scores.map((score, at) => (score === 1 ? `=${step}/${place}` : `${step}/${place}/${at}`))
        // A wrong answer breaks off early.
        return row(
          step,
          place,
          scores,
          scores.map((score, at) => (score === 1 ? 5 : 4 - (at % 2))),
          answers
        )
      })
    )
    assert.deepStrictEqual(titles(learned), [])
  })

  it("see nothing in a choice of few letters that is learned, though one letter is often right", () => {
    const letters = ["A", "A", "A", "B"]
    const learned = stepsOf(60, (step) =>
      letters.map((letter, place) => {
        const right = Math.min(4, Math.floor(step / 12))
        const answers = Array.from({ length: 4 }, (_, at) => (at < right ? `=${letter}` : `${step}${at}`))
        return {
          ...row(
            step,
            place,
            answers.map((answer) => (answer.startsWith("=") ? 1 : 0)),
            [1, 1, 1, 1],
            answers
          ),
          item_id: `${step} ${place}`
        }
      })
    )
    assert.deepStrictEqual(titles(learned), [])
  })

  /** Scores of answers of which half are right; `broken` says what the grader makes of a right and of a wrong one. */
  const graded = (
    isBroken: (step: number) => boolean,
    broken: (isRight: boolean, at: number) => number,
    marks = true
  ) =>
    stepsOf(60, (step) =>
      [0, 1].map((place) => {
        const isRight = [true, false, true, false]
        const scores = isRight.map((right, at) => (isBroken(step) ? broken(right, step + at + place) : Number(right)))
        const answers = isRight.map(
          (right, at) => `${right && marks ? "=" : ""}${place}${right ? "right" : `wrong${at}`}`
        )
        return row(step, place, scores, [9, 9, 9, 9], answers)
      })
    )
  it("see scores that are inverted, from a step on or from the first", () => {
    const found = Signs.find(Signs.tableOf(graded((step) => step > 30, inverted)))
    assert.deepInclude(found[0], { sign: "right", title: "Right answers score lower", from: 31, environment: "math" })
    assert.match(
      found[0]!.message,
      /by 100% of the score range, higher by 100% at first: the grader rewards wrong answers/
    )
    assert.include(titles(graded(() => true, inverted)), "Right answers score lower")
  })

  it("see a grader that is a coin", () => {
    assert.include(titles(graded((step) => step > 30, coin)), "Right answers score no higher")
    assert.deepStrictEqual(titles(graded(() => false, coin)), [])
  })

  it("see by an answer that comes again that its score is another, where nobody says what is right", () => {
    const [found] = Signs.find(Signs.tableOf(graded((step) => step > 30, inverted, false)))
    assert.deepStrictEqual([found?.title, found?.from], ["Inconsistent scores", 31])
    assert.deepStrictEqual(titles(graded(() => false, inverted, false)), [])
  })

  it("take no answer that was cut off for a long one", () => {
    const cut = stepsOf(40, (step) =>
      [0, 1].map((place) => {
        const one = row(
          step,
          place,
          [1, 1, 0, 0],
          [20 + step, 22 + step, 64, 64],
          ["a", "b", "c", "d"].map((answer) => answer + step + place)
        )
        return { ...one, figures: { ...one.figures, truncated: 0.5 } }
      })
    )
    assert.deepStrictEqual(titles(cut), [])
    // With one whole answer in each group but the last of a step's twenty, hardly any can be compared.
    const withWhole = (rest: number) =>
      stepsOf(40, (step) =>
        Array.from({ length: 20 }, (_, place) => {
          const one = row(step, place, [1, 0, 0, 0], [20 + step, 30, 64, 64], ["a", "b", "c", `${step}${place}`])
          return { ...one, figures: { ...one.figures, truncated: place === 19 ? 0.5 : rest } }
        })
      )
    assert.isFalse(Signs.isJudged(withWhole(0.75)))
    assert.isTrue(Signs.isJudged(withWhole(0.5)))
  })

  it("name no step where groups have none", () => {
    const files = stepsOf(30, (step) => [
      row(
        step,
        0,
        [0, 0, 1, 1],
        [10 + 3 * step, 11 + 3 * step, 12 + 3 * step, 13 + 3 * step],
        ["a", "b", "c", `${step}`]
      )
    ]).map((one) => ({ ...one, step: null }))
    const [found] = Signs.find(Signs.tableOf(files), false)
    assert.strictEqual(found?.title, "Longer answers score higher")
    assert.include(found!.message, "In the last 10 parts of math, ")
    assert.notInclude(found!.message, "since step")
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
