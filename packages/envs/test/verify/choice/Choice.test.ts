/**
 * Multiple-choice answers as a human reader takes them (fixtures/verify/choices.json): kind, output, choices, and the
 * letter that it says, or null where it says none, or none for certain. The letters were written down by reading, not
 * by running.
 */
import { assert, describe, it } from "@effect/vitest"
import { ChoiceAnswer } from "@atropos/envs"
import { Schema } from "effect"
import corpus from "../../fixtures/verify/choices.json" with { type: "json" }
import * as Growth from "../../../../core/test/base/Growth.ts"

const Corpus = Schema.Struct({
  choices: Schema.Record(Schema.String, Schema.Array(Schema.String)),
  cases: Schema.Record(
    Schema.String,
    Schema.Array(Schema.Tuple([Schema.String, Schema.String, Schema.NullOr(Schema.String)]))
  )
})
const { cases, choices } = Schema.decodeUnknownSync(Corpus)(corpus)
const kinds = Object.entries(cases)
const all = kinds.flatMap(([, rows]) => rows)
const read = (output: string, set: string) => ChoiceAnswer.extract(output, choices[set] ?? [])?.label ?? null

describe("ChoiceAnswer", () => {
  for (const [kind, rows] of kinds) {
    it(`reads no wrong letter: ${kind}`, () => {
      const wrong = rows.filter(([output, set, gold]) => ![null, gold].includes(read(output, set)))
      assert.deepStrictEqual(wrong, [])
    })
  }

  it("gives up on at most one in a hundred answers that a reader understands", () => {
    const understood = all.filter(([, , gold]) => gold !== null)
    const missed = understood.filter(([output, set]) => read(output, set) === null)
    assert.isAtLeast(all.length, 1000)
    assert.isAtLeast(understood.length, 450)
    assert.isAtMost(missed.length, understood.length / 100, JSON.stringify(missed))
  })

  const letter = Schema.Literals(["A", "B", "C", "D"])
  const name = Schema.Literals(["x", "option x", "(x)", "**x**", "`x`", "choice x", "x)", '"x"'])
  const denial = Schema.Literals([
    "The answer is not x.",
    "The answer isn't x.",
    "It can't be x.",
    "It cannot possibly be x.",
    "Anything but x.",
    "The answer is anything but x.",
    "All options except x.",
    "x is wrong.",
    "x is not correct.",
    "x cannot be the answer.",
    "I rule out x.",
    "I do not think that the answer is x.",
    "I don't believe it's x.",
    "Nobody would say that the answer is x.",
    "It is false that the answer is x.",
    "The answer is x? No.",
    "The answer is x. No, that is wrong.",
    "The answer is x, which is not true.",
    "Neither x nor any other.",
    "Is the answer x?",
    "If only the answer were x.",
    "The answer is x if pigs fly.",
    "Some say that the answer is x.",
    "A wrong answer is x.",
    "The answer is never x."
  ])
  it.prop(
    "never takes a statement that denies, asks, supposes or quotes for an answer, however it is set",
    [
      denial,
      letter,
      name,
      Schema.Literals(["", "So ", "Well, ", "I think: ", "\n\n", "Paris is nice. "]),
      Schema.Boolean
    ],
    ([sentence, label, form, lead, isSmall]) => {
      const set = lead + sentence.replaceAll(/\bx\b/g, form.replace("x", label))
      assert.strictEqual(read(isSmall ? set.toLowerCase() : set, "cities"), null, set)
    },
    { arbitrary: { runs: 2000 } }
  )

  const prose = Schema.Literals([
    "This answer is correct.",
    "The answer is surely not A.",
    "I hope it is correct.",
    "A is wrong.",
    "B is wrong, C is wrong and D is wrong.",
    "No other option fits.",
    "Wait, let me check: yes.",
    "The options A, B, C and D were given.",
    "A or B was the question.",
    "London, Paris, Rome and Oslo are capitals.",
    "Is it A? No.",
    "Step 1 was the hardest.",
    "Thank you."
  ])
  it.prop(
    "lets a letter in a box or a tag stand, whatever harmless prose follows",
    [letter, Schema.Literals(["\\boxed{@}", "$\\boxed{\\text{(@)}}$", "<answer>@</answer>"]), Schema.Array(prose)],
    ([label, mark, sentences]) => {
      const set = [mark.replace("@", label), ...sentences].join(" ")
      assert.strictEqual(read(set, "cities"), label, set)
    },
    { arbitrary: { runs: 1000 } }
  )

  it("reads labels of any script", () => {
    const cyrillic = ["А", "Б", "В", "Г"]
    const stems = ["甲", "乙", "丙", "丁"]
    const kana = ["ア", "イ", "ウ", "エ"]
    const hangul = ["가", "나", "다", "라"]
    const circled = ["①", "②", "③", "④"]
    const rows: ReadonlyArray<readonly [labels: ReadonlyArray<string>, output: string, label: string | undefined]> = [
      [cyrillic, "Б", "Б"],
      [cyrillic, "Ответ: Б", "Б"],
      [cyrillic, "Правильный ответ: В", "В"],
      [cyrillic, "Вариант Б правильный", "Б"],
      [cyrillic, "Ответ Б верен, а А неверен.", "Б"],
      [cyrillic, "Ответ не Б", undefined],
      [cyrillic, "The answer is Б.", "Б"],
      [cyrillic, "\\boxed{Б}", "Б"],
      [cyrillic, "<answer>В</answer>", "В"],
      // The second letter of the Latin alphabet, or the third of the Cyrillic one.
      [["A", "B", "C", "D"], "Ответ: В", undefined],
      [stems, "乙", "乙"],
      [stems, "答案是甲", "甲"],
      [stems, "故选乙。", "乙"],
      [stems, "选项乙正确", "乙"],
      [kana, "正解はイです。", "イ"],
      [kana, "イが正しい", "イ"],
      [hangul, "정답: 나", "나"],
      [hangul, "정답은 나입니다", "나"],
      [circled, "②", "②"],
      [circled, "答案是②", "②"],
      [circled, "정답은 ②번입니다", "②"],
      [["أ", "ب", "ج", "د"], "الإجابة الصحيحة هي ب", "ب"],
      [["α", "β", "γ", "δ"], "Η σωστή απάντηση είναι το β", "β"],
      [["α", "β", "γ", "δ"], "The answer is (γ).", "γ"],
      [["क", "ख", "ग", "घ"], "तो उत्तर ख है", "ख"],
      [["א", "ב", "ג", "ד"], "התשובה היא ב", "ב"],
      [["ก", "ข", "ค", "ง"], "คำตอบคือ ข", "ข"],
      [["I", "II", "III", "IV"], "The answer is Ⅱ", "II"]
    ]
    for (const [labels, output, label] of rows) {
      assert.strictEqual(ChoiceAnswer.extractLabel(output, labels)?.label, label, output)
    }
  })

  it("reads any text in linear time", () => {
    const parts = [
      "A",
      "A ",
      "A, ",
      "A\n",
      "A. ",
      "(A) ",
      "not ",
      "the answer is ",
      "The answer is A, ",
      "The answer is not ",
      "but ",
      '"',
      "( ",
      "\\boxed{",
      "\\boxed{A} ",
      "<answer>",
      "~~",
      "i think that ",
      "the best ",
      ": ",
      "either ",
      "option ",
      "Paris ",
      "London, ",
      "**",
      "🅱",
      "A because ",
      "to the question "
    ]
    const slow = parts.filter((part) =>
      [100_000, 19_000].some((size) => !Growth.isLinearIn(size, part, (text) => read(text, "cities")))
    )
    assert.deepStrictEqual(slow, [])
  })
})
