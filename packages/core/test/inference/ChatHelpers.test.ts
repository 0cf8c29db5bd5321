import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Result } from "effect"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import * as ChatMask from "../../src/inference/sequences/ChatMask.ts"
import * as Labels from "../../src/trajectory/Labels.ts"
import type { Message } from "../../src/trajectory/Message.ts"
import * as Tokenizer from "../../src/inference/tokenizer/Tokenizer.ts"
import * as ToolCalls from "../../src/inference/sequences/ToolCalls.ts"

const fixture = (name: string): string => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url))
const fixtureJson = (name: string): unknown => JSON.parse(readFileSync(fixture(name), "utf8"))

/** Recorded from the original (scripts/record-chat-helpers.py). */
const recorded = fixtureJson("chat-helpers.json") as {
  readonly masks: ReadonlyArray<{
    readonly messages: ReadonlyArray<Message>
    readonly all: boolean
    readonly tokens: ReadonlyArray<number>
    readonly masks: ReadonlyArray<number>
  }>
}
layer(Tokenizer.layerHuggingFace(fixture("tiny-tokenizer")))("as the original", (it) => {
  it.effect("ChatMask.tokenize gives the original's tokens and masks", () =>
    Effect.gen(function* () {
      const tokenizer = yield* Tokenizer.Tokenizer
      for (const { all, masks, messages, tokens } of recorded.masks) {
        const ours = Result.getOrThrow(ChatMask.tokenize(tokenizer, messages, { train: all ? "assistants" : "last" }))
        assert.deepStrictEqual(Array.from(ours.tokens), tokens)
        assert.deepStrictEqual(Array.from(Labels.ofMask(ours.tokens, ours.mask)), masks)
      }
    })
  )

  it.effect("ChatMask.tokenize refuses a template that rewrites earlier turns, and shows where", () =>
    Effect.gen(function* () {
      const tokenizer = yield* Tokenizer.Tokenizer
      const messages = [
        { role: "user", content: "a" },
        { role: "assistant", content: "<think>hm</think>b" },
        { role: "user", content: "c" },
        { role: "assistant", content: "d" }
      ]
      const result = ChatMask.tokenize(tokenizer, messages, { train: "assistants" })
      assert.isTrue(Result.isFailure(result))
      if (Result.isFailure(result)) {
        assert.include(result.failure.message, "message 1")
        assert.include(result.failure.message, '|>assistant\\n<think>hm</think>b<|" became "im_start|>assistant\\nb<|')
      }
      assert.isTrue(Result.isSuccess(ChatMask.tokenize(tokenizer, messages)))
    })
  )
})

const parse = (text: string, finishReason = "stop") => ToolCalls.makeTranslator().parse(text, finishReason)

describe("ToolCalls.Translator", () => {
  it.effect("reads one call, several, and the text before them", () =>
    Effect.gen(function* () {
      const answer = yield* parse(
        '<think>hm</think>\n<tool_call>{"name": "a", "arguments": {"x": {"y": [1, "é"]}}}</tool_call>\n<tool_call>\n{"name": "b", "arguments": {}}\n</tool_call>'
      )
      assert.strictEqual(answer.content, "<think>hm</think>\n")
      assert.strictEqual(answer.finishReason, "tool_calls")
      assert.deepStrictEqual(
        answer.toolCalls.map(({ function: call, type }) => ({ type, ...call })),
        [
          { type: "function", name: "a", arguments: '{"x": {"y": [1, "é"]}}' },
          { type: "function", name: "b", arguments: "{}" }
        ]
      )
      assert.notStrictEqual(answer.toolCalls[0]!.id, answer.toolCalls[1]!.id)
    })
  )

  const texts = [
    "no call",
    "<tool_call>not JSON</tool_call>",
    '<tool_call>{"name": "a", "arguments": {}}</tool_call> and <tool_call>{"na'
  ]
  for (const text of texts) {
    it.effect(`leaves ${text} alone`, () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* parse(text), { content: text, toolCalls: [], finishReason: "stop" })
      })
    )
  }

  it.effect("reads a call that the end of the answer closes, unless the answer was cut off", () =>
    Effect.gen(function* () {
      const text = '<tool_call>{"name": "a", "arguments": {}}'
      const { content, finishReason, toolCalls } = yield* parse(text)
      assert.deepStrictEqual(
        { content, finishReason, names: toolCalls.map(({ function: { name } }) => name) },
        { content: null, finishReason: "tool_calls", names: ["a"] }
      )
      assert.deepStrictEqual(yield* parse(text, "length"), { content: text, toolCalls: [], finishReason: "length" })
    })
  )

  it.effect("keeps a length stop, and has no content where nothing stands before the call", () =>
    Effect.gen(function* () {
      const call = '<tool_call>{"name": "a", "arguments": {}}</tool_call>'
      assert.strictEqual((yield* parse(`${call} and th`, "length")).finishReason, "length")
      assert.isNull((yield* parse(call)).content)
    })
  )

  it.effect("gives back the exact text of its own calls, and writes those of others", () =>
    Effect.gen(function* () {
      const translator = ToolCalls.makeTranslator()
      const text = 'Well,\n<tool_call>{"name":"a","arguments":{"x":1}}</tool_call>'
      const { content, toolCalls } = yield* translator.parse(text, "stop")
      const foreign = [{ id: "other", function: { name: "a", arguments: '{"q": "x"}' } }]
      const messages: ReadonlyArray<Message> = [
        { role: "user", content: "hi" },
        { role: "assistant", content, tool_calls: toolCalls },
        { role: "tool", content: "1", tool_call_id: "x" },
        { role: "assistant", content: "Let me search.", tool_calls: foreign },
        { role: "assistant", content: null, tool_calls: [...foreign, { function: { name: "b", arguments: "{}" } }] },
        { role: "assistant", content: "done", tool_calls: [] }
      ]
      assert.deepStrictEqual(translator.toText(messages), [
        messages[0]!,
        { role: "assistant", content: text },
        messages[2]!,
        {
          role: "assistant",
          content: 'Let me search.\n<tool_call>\n{"name": "a", "arguments": {"q": "x"}}\n</tool_call>'
        },
        {
          role: "assistant",
          content:
            '<tool_call>\n{"name": "a", "arguments": {"q": "x"}}\n</tool_call>\n<tool_call>\n{"name": "b", "arguments": {}}\n</tool_call>'
        },
        messages[5]!
      ])
    })
  )
})

describe("ChatMask", () => {
  const messages = [
    { role: "user", content: "hi" },
    { role: "assistant", content: "a long ans" }
  ]
  const { bytes } = Tokenizer
  const words = ({ mask, tokens }: ChatMask.ChatTokens): string =>
    bytes.decode(tokens.filter((_, at) => mask[at] === 1))

  it("does not train the end of turn of an answer that was cut off", () => {
    const whole = Result.getOrThrow(ChatMask.tokenize(bytes, messages, { finishReason: "stop" }))
    const cut = Result.getOrThrow(ChatMask.tokenize(bytes, messages, { finishReason: "length" }))
    assert.strictEqual(words(whole), "a long ans<|im_end|>\n")
    assert.strictEqual(words(cut), "a long ans")
    assert.strictEqual(cut.tokens.length, cut.mask.length)
  })

  it("makes trajectories from text, from the server's tokens, or without tokens", () => {
    const choice = { message: messages[1]!, text: "a long ans", toolCalls: [], finishReason: "stop" }
    const request = { messages: messages.slice(0, 1) }
    const made = Result.getOrThrow(ChatMask.chatTrajectory(bytes, request, choice))
    assert.strictEqual(words(made), "a long ans<|im_end|>\n")
    assert.isUndefined(made.logprobs)
    const sampled = { tokens: [7, 8], logprobs: [-1, -2], finishReason: "stop" }
    const exact = Result.getOrThrow(
      ChatMask.chatTrajectory(bytes, request, { ...choice, sampled }, { promptTokens: [5, 6] })
    )
    assert.deepStrictEqual(
      [exact.tokens, exact.mask, exact.logprobs].map((list) => Array.from(list ?? [])),
      [
        [5, 6, 7, 8],
        [0, 0, 1, 1],
        [NaN, NaN, -1, -2]
      ]
    )
    assert.isEmpty(Result.getOrThrow(ChatMask.chatTrajectory(undefined, request, choice)).tokens)
    const text = ChatMask.textTrajectory(bytes, "hi", choice)
    assert.deepStrictEqual(text.messages, [{ role: "user", content: "hi" }, choice.message])
    assert.strictEqual(words(text), "a long ans")
  })
})
