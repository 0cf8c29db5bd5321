import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { chunks } from "../../viewer/src/groups/message/Chunks.ts"
import { imageOf, imagesOf } from "../../viewer/src/groups/message/Image.ts"
import * as Message from "../../viewer/src/groups/message/Message.ts"
import { split } from "../../viewer/src/groups/message/Segments.ts"
import * as Growth from "../../../core/test/base/Growth.ts"

const kinds = (text: string) => split(text).map(({ kind, text }) => [kind, text])

const words = (text: string) => text.replaceAll(/<\/?(?:think|tool_call)>/g, "").replaceAll(/\s/g, "")

describe("segments.split", () => {
  it("takes reasoning, calls and results out of the text around them", () => {
    assert.deepStrictEqual(
      kinds(
        '<think>\n9 + 9\n</think>\nIt is\n<tool_call>{"name": "f"}</tool_call>\n<tool_response>18</tool_response> 18.'
      ),
      [
        ["reasoning", "9 + 9"],
        ["text", "It is"],
        ["tool_call", '{"name": "f"}'],
        ["tool_response", "18"],
        ["text", " 18."]
      ]
    )
  })

  it("takes what was cut off as reasoning that is not finished", () => {
    assert.deepStrictEqual(split("<THINK>hm"), [{ kind: "reasoning", text: "hm", isOpen: true }])
  })

  it("closes what a chat template opened", () => {
    assert.deepStrictEqual(kinds("so 4.</think>4"), [
      ["reasoning", "so 4."],
      ["text", "4"]
    ])
  })

  it("reads every block of reasoning", () => {
    assert.deepStrictEqual(
      kinds("<think>a</think>b<think>c</think>d").map(([kind]) => kind),
      ["reasoning", "text", "reasoning", "text"]
    )
  })

  it("is not stalled by blank space, nor by marks without end", () => {
    for (const part of [
      "\n",
      " \n",
      "<think></think>",
      "<thinking></thinking>",
      "<tool_call></tool_call>",
      "<think>"
    ]) {
      assert.isTrue(
        Growth.isLinearIn(300_000, part, (text) => split(`a${text}x`)),
        part
      )
    }
  })

  const pieces = ["<think>", "</think>", "<tool_call>", "</tool_call>", "a", " ", "\n", "`", "<", "é"]
  it.prop("drops nothing but marks and blank space", [Schema.Array(Schema.Literals(pieces))], ([parts]) => {
    const text = parts.join("")
    assert.strictEqual(
      words(
        split(text)
          .map(({ text }) => text)
          .join("")
      ),
      words(text)
    )
  })
})

describe("Message.read", () => {
  it("folds reasoning_content before the text, and reads arguments that are JSON", () => {
    const message = Message.read({
      role: "assistant",
      content: null,
      reasoning_content: "look it up",
      tool_calls: [{ id: "1", type: "function", function: { name: "search", arguments: '{"q": "cats"}' } }]
    })
    assert.deepStrictEqual(message.parts, [{ kind: "reasoning", text: "look it up", isOpen: false }])
    assert.deepStrictEqual(message.toolCalls, [{ id: "1", name: "search", input: { q: "cats" } }])
  })

  it("shows malformed calls as they are", () => {
    const calls = Message.read({
      role: "assistant",
      tool_calls: [null, "x", { function: { name: "f", arguments: "{" } }]
    })
    assert.deepStrictEqual(calls.toolCalls, [
      { id: null, name: "unnamed", input: null },
      { id: null, name: "unnamed", input: "x" },
      { id: null, name: "f", input: "{" }
    ])
  })

  it("leaves a prompt that explains the marks as it is", () => {
    const text = "Write <think>…</think>, then the answer."
    assert.deepStrictEqual(Message.read({ role: "system", content: text }).parts, [{ kind: "text", text }])
    assert.deepStrictEqual(Message.read({ role: "user", content: text }).parts, [{ kind: "text", text }])
  })

  it("reads parts: text, pictures by their bytes, thinking, anything else as JSON", () => {
    const audio = { type: "input_audio", input_audio: { data: "x" } }
    const { parts } = Message.read({
      role: "user",
      content: [
        { type: "text", text: "a" },
        { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
        { type: "thinking", thinking: "b" },
        audio
      ]
    })
    assert.deepStrictEqual(parts, [
      { kind: "text", text: "a" },
      { kind: "image", image: { src: "data:image/png;base64,AAAA", name: "image/png, 3 B" } },
      { kind: "reasoning", text: "b", isOpen: false },
      { kind: "json", title: "input_audio", value: audio }
    ])
  })

  it.prop("reads whatever is in place of a message", [Schema.Json], ([json]) => {
    const message = Message.read(json)
    assert.isString(message.role)
    assert.deepStrictEqual(message.raw, json)
  })
})

describe("Image", () => {
  it("shows bytes: data URLs, and base64 of the formats browsers know", () => {
    for (const [base64, type] of [
      ["iVBORw0KGgo=", "png"],
      ["/9j/4AAQ", "jpeg"],
      ["R0lGODlh", "gif"],
      ["UklGRgAA", "webp"]
    ]) {
      assert.strictEqual(imageOf(base64)?.src, `data:image/${type};base64,${base64}`)
    }
    assert.strictEqual(
      imageOf({ type: "image_url", image_url: { url: "data:image/gif;base64,R0lG" } })?.src,
      "data:image/gif;base64,R0lG"
    )
  })

  it("names what it will not load or cannot show", () => {
    assert.deepStrictEqual(imageOf("https://example.com/a.png"), {
      src: null,
      name: "https://example.com/a.png (not loaded)"
    })
    assert.isNull(imageOf("javascript:alert(1)")?.src)
    assert.deepStrictEqual(imageOf("data:text/html,<script>"), { src: null, name: "text/html: not a picture" })
    assert.include(imageOf("no picture")?.name, "neither a data URL nor base64 of a picture")
    assert.deepStrictEqual(imagesOf([null, 3, { width: 4 }, []]), [])
  })
})

describe("chunks", () => {
  const lines = Schema.Array(Schema.Literals(["word", "```", "", "\u{1f600}", "longer line of words"]))
  it.prop("are the text again, none longer than asked for", [lines], ([lines]) => {
    const text = lines.join("\n")
    const pieces = chunks(text, 20)
    assert.strictEqual(pieces.join(""), text)
    for (const piece of pieces) {
      assert.isAtMost(piece.length, 20)
      assert.isTrue(piece.isWellFormed())
    }
  })

  it("are cut at blank lines, and not inside of code", () => {
    const code = "```\na\n\nb\n```\n\n"
    assert.deepStrictEqual(chunks(`one two three\n\n${code}end`, 26), ["one two three\n\n", `${code}end`])
  })
})
