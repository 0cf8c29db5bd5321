import { assert, describe, it } from "@effect/vitest"
import { Thinking } from "@atropos/envs"

describe("Thinking.answer", () => {
  it("is the text itself where thinking is not required and not there", () => {
    assert.strictEqual(Thinking.answer("B", false), "B")
    assert.strictEqual(Thinking.answer("<think>A", false), "<think>A")
    assert.strictEqual(Thinking.answer("<think>A</think> B", false), "B")
  })

  const cases: ReadonlyArray<readonly [text: string, answer: string | undefined]> = [
    ["<think>so</think> B ", "B"],
    ["<THINK>so</Think>B", "B"],
    ["first <think>so</think>B", "B"],
    ["<think></think>B", "B"],
    ["<think>so</think>", ""],
    ["B", undefined],
    ["<think>B", undefined],
    ["so</think>B", undefined],
    ["</think>B<think>", undefined],
    ["<think>a</think><think>b</think>B", undefined],
    ["<think>a</think>B</think>", undefined],
    ["<think><think>a</think>B", undefined]
  ]
  for (const [text, answer] of cases) {
    it(`finds ${answer === undefined ? "none" : JSON.stringify(answer)} in ${JSON.stringify(text)}`, () => {
      assert.strictEqual(Thinking.answer(text), answer)
    })
  }
})

describe("Thinking.spoken", () => {
  const cases: ReadonlyArray<readonly [text: string, spoken: string]> = [
    ["B", "B"],
    ["a <think>so</think>B", "a B"],
    ["<THINK>so</Think>B", "B"],
    ["<think>a</think>B<think>c</think>D", "BD"],
    // Thinking that was cut off.
    ["A<think>B", "A"],
    ["<think>a</think>B<think>c", "B"],
    // The prompt opened it.
    ["so</think>B", "B"],
    ["a<think>b</think>c</think>D", "D"],
    ["<think><think>a</think>B", "B"]
  ]
  for (const [text, spoken] of cases) {
    it(`is ${JSON.stringify(spoken)} of ${JSON.stringify(text)}`, () =>
      assert.strictEqual(Thinking.spoken(text), spoken))
  }
})

describe("Thinking.taggedAnswer", () => {
  const cases: ReadonlyArray<readonly [text: string, answer: string | undefined]> = [
    ["It is <answer> 5 </answer>.", "5"],
    ["<ANSWER>5</Answer>", "5"],
    ["<think><answer>4</answer></think><answer>5</answer>", "5"],
    ["perhaps <answer>4</answer></think><answer>5</answer>", "5"],
    ["<think>a</think><think><answer>4</answer></think><answer>5</answer>", "5"],
    ["<answer></answer>", ""],
    ["5", undefined],
    ["<answer>5", undefined],
    ["</answer>5<answer>", undefined],
    ["<answer>4</answer><answer>5</answer>", undefined],
    ["<answer>4<answer>5</answer>", undefined],
    ["<think>so <answer>5</answer>", undefined],
    ["<think>so</think><think><answer>5</answer></think>", undefined]
  ]
  for (const [text, answer] of cases) {
    it(`finds ${answer === undefined ? "none" : JSON.stringify(answer)} in ${JSON.stringify(text)}`, () => {
      assert.strictEqual(Thinking.taggedAnswer(text), answer)
    })
  }
})
