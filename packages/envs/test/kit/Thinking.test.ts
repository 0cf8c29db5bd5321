import { assert, describe, it, layer } from "@effect/vitest"
import { Tokenizer } from "@atropos/core"
import { Thinking } from "@atropos/envs"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const fixture = (name: string): string => fileURLToPath(new URL(`../../../core/test/fixtures/${name}`, import.meta.url))
const fixtureJson = (name: string): unknown => JSON.parse(readFileSync(fixture(name), "utf8"))

/** Recorded from the original (scripts/record-chat-helpers.py). */
const recorded = fixtureJson("chat-helpers.json") as {
  readonly thinking: ReadonlyArray<{
    readonly text: string
    readonly max: number
    readonly truncated: string
    readonly stripped: string
  }>
}
const functions = fixtureJson("functions.json") as {
  readonly strip_thinking: ReadonlyArray<{ readonly text: string; readonly result: string }>
  readonly truncate_thinking: ReadonlyArray<{ readonly text: string; readonly max: number; readonly result: string }>
  readonly thinking: ReadonlyArray<{
    readonly text: string
    readonly valid: readonly [boolean, string]
    readonly inside: string | null
  }>
}

layer(Tokenizer.layerHuggingFace(fixture("tiny-tokenizer")))("as the original", (it) => {
  it.effect("Thinking.strip and truncate give the original's texts", () =>
    Effect.gen(function* () {
      const tokenizer = yield* Tokenizer.Tokenizer
      for (const { max, stripped, text, truncated } of recorded.thinking) {
        assert.strictEqual(Thinking.truncate(text, tokenizer, max), truncated, text)
        assert.strictEqual(Thinking.strip(text), stripped, text)
      }
    })
  )
})

/** One token per word with the blanks before it: the tokenizer of the recordings of `truncate_thinking`. */
const wordTokenizer = (): Tokenizer.TokenizerShape => {
  const words: Array<string> = []
  return {
    ...Tokenizer.bytes,
    encode: (text) =>
      text
        .split(/\s+/)
        .filter((word) => word !== "")
        .map((word) => words.push(word) - 1),
    decode: (ids) => Array.from(ids, (id) => words[id]).join(" ")
  }
}

describe("Thinking", () => {
  it("gives the recorded values", () => {
    for (const { result, text } of functions.strip_thinking) assert.strictEqual(Thinking.strip(text), result)
    for (const { max, result, text } of functions.truncate_thinking) {
      assert.strictEqual(Thinking.truncate(text, wordTokenizer(), max), result, text)
    }
    for (const { inside, text, valid } of functions.thinking) {
      const { content, isValid } = Thinking.validate(text)
      assert.deepStrictEqual([isValid, content], [...valid], text)
      assert.strictEqual(Thinking.inside(text) ?? null, inside, text)
    }
  })
})

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
      assert.strictEqual(Thinking.visibleText(text), spoken))
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
