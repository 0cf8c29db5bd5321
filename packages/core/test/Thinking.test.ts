import { assert, describe, it } from "@effect/vitest"
import { Thinking } from "@atropos/core"

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
