import { assert, describe, it } from "@effect/vitest"
import { PackedGroup, WireGroup } from "@atropos/core"
import { Schema } from "effect"
import { payloadText } from "../../src/postgres/reading/PayloadText.ts"
import * as RolloutText from "../../src/rollout/RolloutText.ts"
import * as SampleGroups from "../SampleGroups.ts"

const said = (role: string, content: unknown) => ({ role, content })

const found = (text: string, ...contents: ReadonlyArray<string>): boolean | undefined => {
  const query = RolloutText.parse(text)
  return query && RolloutText.matches(query, RolloutText.ofMessages([contents.map((content) => said("user", content))]))
}

describe("RolloutText.matches", () => {
  it.each([
    ["cat", "A Cat sat", true],
    ["ca SA", "a cat sat", true],
    ["at", "a cat sat", false],
    ["cat dog", "a cat sat", false],
    ['"cat sat"', "a Cat, sat.", true],
    ['"cat sa"', "a cat sat", false],
    ['"cat"', "cats", false],
    ['"sat cat"', "a cat sat", false],
    ['"cat sat', "the cat sat", true],
    ["\\boxed{42}", "so \\boxed{42}.", true],
    ["\\boxed{4", "so \\boxed{42}.", true],
    ["\\boxed{42}", "boxed 7 and 42", false],
    ["max_tokens", "max_tokens=5", true],
    ["tokens", "max_tokens=5", true],
    ["3.14", "it is 3.14159", true],
    ["ÜBER", "übermut", true],
    ["ﬁne", "fine", true],
    ["数学", "这是数学题", true],
    ["学数", "这是数学题", false],
    ["Москва", "в москве", false],
    ["моск", "в Москве", true],
    ['"', "anything", undefined],
    ["{} = +", "x = {}", undefined],
    ["+ x", "x", true]
  ] as const)("%s in %s: %s", (query, text, expected) => {
    assert.strictEqual(found(query, text), expected)
  })

  it("finds words anywhere in a group, and phrases within one message alone", () => {
    assert.isTrue(found("cat dog", "a cat", "a dog"))
    assert.isFalse(found('"cat dog"', "a cat", "dog is here"))
  })

  it.prop("finds every word by its beginning, and every two neighbours as a phrase", [Schema.String], ([text]) => {
    const words = RolloutText.wordsOf(text)
    for (const [i, word] of words.entries()) {
      assert.isTrue(found(word.slice(0, 3), text) ?? true)
      const neighbour = words[i + 1]
      if (neighbour !== undefined) assert.isTrue(found(`"${word} ${neighbour}"`, text))
    }
  })
})

describe("RolloutText.ofMessages", () => {
  const chat = [
    said("system", "You are kind."),
    said("user", "First question"),
    { ...said("assistant", "An answer"), reasoning_content: "I wonder" },
    said("user", [
      { type: "text", text: "Second   question\n" },
      { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }
    ]),
    { ...said("assistant", null), tool_calls: [{ function: { name: "lookUp", arguments: '{"word":"zebra"}' } }] }
  ]

  it("shows the item's question, and searches contents, reasoning and calls, but no images", () => {
    const text = RolloutText.ofMessages([chat])
    assert.strictEqual(text.preview, "First question")
    for (const word of ["kind", "wonder", "answer", "second", "lookup", "zebra"]) {
      assert.isTrue(RolloutText.matches(RolloutText.parse(word)!, text), word)
    }
    assert.isFalse(RolloutText.matches(RolloutText.parse("aaaa")!, text))
  })

  it.each([
    ["an answer that all rollouts began with", [-100, 7, 8, -100, 9], "First question"],
    ["an example in the prompt", [-100, -100, -100, -100, 9], "Second question"],
    ["an example, in zeros and ones", [0, 0, 0, 0, 1], "Second question"],
    ["nobody knows what", [-100, -100, -100, -100, -100], "First question"]
  ])("takes the first answer for %s as the mask says", (_, mask, preview) => {
    assert.strictEqual(RolloutText.ofMessages([chat, chat], [mask, mask]).preview, preview)
  })

  it("keeps what rollouts share once", () => {
    const one = RolloutText.ofMessages([chat])
    assert.deepStrictEqual(RolloutText.ofMessages([chat, chat, chat]), one)
  })

  it.each([
    [[[said("user", "x ".repeat(300))]], `${"x ".repeat(200).slice(0, 199)}…`],
    [[[said("system", "Rules"), said("assistant", "Yes")]], "Rules"],
    [[[said("assistant", "Only this")]], "Only this"],
    [[[said("user", "a\u0000b")]], "a b"],
    [[[said("user", `${"y".repeat(198)}🙂🙂🙂`)]], `${"y".repeat(198)}🙂…`],
    [[[said("user", "half \ud83d")]], "half \ufffd"],
    [[[said("user", "")]], ""],
    [[[]], null],
    [[], null],
    [null, null],
    ["words", null],
    [[[42, null, said("user", 7)]], ""]
  ])("previews %j", (chats, preview) => {
    assert.strictEqual(RolloutText.ofMessages(chats).preview, preview)
  })

  it("is bounded, in characters and in different words", () => {
    const long = RolloutText.ofMessages([[said("user", "ab cd ".repeat(400_000))]])
    assert.isAtMost(long.body.length, 1_000_010)
    const many = RolloutText.ofMessages([
      [said("user", Array.from({ length: 200_000 }, (_, i) => `слово${i}`).join(" "))]
    ])
    assert.isAtMost(Buffer.byteLength(many.body.replaceAll(" ", "")), 1_000_000)
    assert.isAbove(many.vocabulary, 50_000)
  })
})

describe("payloadText", () => {
  it("reads both forms alike", () => {
    const packed = payloadText({ format: "packed", bytes: PackedGroup.encode(SampleGroups.full) })
    const json = new TextEncoder().encode(WireGroup.encode(SampleGroups.full))
    assert.deepStrictEqual(payloadText({ format: "json", bytes: json }), packed)
    assert.strictEqual(packed.preview, "2 + 2?")
    assert.isTrue(RolloutText.matches(RolloutText.parse("é")!, packed))
  })

  it.each([
    ["json", "{"],
    ["json", "[1]"],
    ["json", '{"messages":{"a":1}}'],
    ["packed", "ATPG?"]
  ] as const)("finds none in %s bytes %s", (format, text) => {
    const { figures, ...found } = payloadText({ format, bytes: new TextEncoder().encode(text) })
    assert.deepStrictEqual(found, { preview: null, body: "", vocabulary: 0 })
    assert.notStrictEqual(figures?.prompt, "")
  })
})
