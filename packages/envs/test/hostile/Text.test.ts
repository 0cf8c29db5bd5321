import { assert, describe, it } from "@effect/vitest"
import { ToolCalls } from "@atropos/core"
import { ChoiceAnswer, NumberAnswer, Rewards, TextAnswer, Thinking } from "@atropos/envs"
import { Effect } from "effect"
import * as Growth from "../../../core/test/base/Growth.ts"

const size = 200_000
const repeated = [
  "<answer>",
  "<answer>a",
  "</answer>",
  "<think>",
  "<think>\n",
  "</think>",
  "<think></think>",
  "<|start_of_scratchpad|>",
  "<tool_call>",
  '<tool_call>{"a',
  '"\\',
  "\\boxed{",
  "The answer is ",
  "1-",
  "1",
  " ",
  "\n",
  "\n    ",
  "1. ",
  "Step 1",
  "*",
  "-"
]

const around = [
  ["", ""],
  ["", "!"],
  ["", "</answer>"],
  ["<answer>", "</answer>"],
  ["<tool_call>", "</tool_call>"],
  ['<tool_call>\n"', "</tool_call>"],
  ["\\boxed{", "}"]
] as const

const translate = (text: string) => Effect.runSync(ToolCalls.makeTranslator().parse(text, "stop"))

const readers: { readonly [name: string]: (text: string) => unknown } = {
  "Thinking.answer": (text) => Thinking.answer(text),
  "Thinking.inside": Thinking.inside,
  "Thinking.spoken": Thinking.visibleText,
  "Thinking.strip": Thinking.strip,
  "Thinking.taggedAnswer": Thinking.taggedAnswer,
  "Thinking.validate": Thinking.validate,
  "ToolCalls.callsOf": ToolCalls.callsOf,
  "ToolCalls.makeTranslator": translate,
  "ChoiceAnswer.extract": (text) => ChoiceAnswer.extract(text, ["one", "two"]),
  "NumberAnswer.grade": (text) => NumberAnswer.grade("12", text),
  "TextAnswer.equivalent": (text) => TextAnswer.equivalent("twelve", text),
  "TextAnswer.equivalent to a number": (text) => TextAnswer.equivalent("12", text),
  "TextAnswer.similarity": (text) => TextAnswer.similarity("twelve", text)
}

const rewards: { readonly [name: string]: Rewards.Reward } = {
  accuracyX: Rewards.accuracyX(),
  crosswordFormat: Rewards.crosswordFormat({ strict: true }),
  format: Rewards.format({ requireAllTags: true }),
  formatReasoning: Rewards.formatReasoning(),
  r1: Rewards.r1(),
  reasoningSteps: Rewards.reasoningSteps(),
  repetitionPenalty: Rewards.repetitionPenalty()
}

// Each took seconds to hours on one of these texts where it looked at the rest of the text from every place in it.
describe("text that a model goes on repeating", () => {
  /** What is repeated in the first text that takes more than linear time, with what is around it. */
  const slow = (read: (text: string) => unknown): string | undefined => {
    for (const part of repeated) {
      for (const [before, after] of around) {
        const isLinear = Growth.isLinearIn(size, part, (text) => read(before + text + after))
        if (!isLinear) return `${before}${part}…${after}`
      }
    }
    return undefined
  }
  for (const [name, read] of Object.entries(readers)) {
    it(`is read in linear time by ${name}`, () => assert.isUndefined(slow(read)))
  }
  for (const [name, reward] of Object.entries(rewards)) {
    const score = (text: string) => Effect.runSync(reward.compute(text, { solution: "12" }))
    it(`is scored in linear time by Rewards.${name}`, () => assert.isUndefined(slow(score)))
  }

  it("is no call where it is nested deeper than recursion goes", () => {
    for (const [open, close] of [
      ["[", "]"],
      ['{"a":', "}"]
    ] as const) {
      const nested = (levels: number) =>
        `<tool_call>{"name": "a", "arguments": {"a": ${open.repeat(levels)}1${close.repeat(levels)}}}</tool_call>`
      assert.lengthOf(ToolCalls.callsOf(nested(20)), 1)
      assert.lengthOf(translate(nested(20)).toolCalls, 1)
      assert.lengthOf(ToolCalls.callsOf(nested(50_000)), 0)
      assert.lengthOf(translate(nested(50_000)).toolCalls, 0)
    }
    const brackets = ToolCalls.callsOf(`<tool_call>{"name": "a", "arguments": {"a": "${"[".repeat(500)}"}}</tool_call>`)
    assert.deepStrictEqual(brackets, [{ name: "a", arguments: { a: "[".repeat(500) } }])
  })
})
