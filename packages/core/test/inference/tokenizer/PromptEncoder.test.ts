import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as PromptEncoder from "../../../src/inference/tokenizer/PromptEncoder.ts"
import type { TokenizerShape } from "../../../src/inference/tokenizer/Tokenizer.ts"
import { bytes } from "../../../src/inference/tokenizer/Tokenizer.ts"
import * as TrackedSequences from "../../../src/inference/sequences/TrackedSequences.ts"

const bos = 1
const eos = 2
const blank = 3

/**
 * One id per character of `alphabet`, others left out. `frame`: BOS in front; `closes`: EOS behind as well, as some do;
 * `dummy`: a blank before every text, which decoding drops at the beginning (SentencePiece).
 */
const tokenizerOf = (
  alphabet: string,
  { closes = false, dummy = false, frame = false }: { closes?: boolean; dummy?: boolean; frame?: boolean } = {}
): TokenizerShape => {
  const known = Array.from(alphabet)
  const first = 4
  return {
    name: `test:${alphabet}`,
    vocabularySize: first + known.length,
    bosTokenId: frame ? bos : undefined,
    eosTokenId: eos,
    encode: (text, { addSpecialTokens = true } = {}) => {
      const ids = Array.from(text).flatMap((character) =>
        known.includes(character) ? [first + known.indexOf(character)] : []
      )
      const plain = dummy && text !== "" ? [blank, ...ids] : ids
      return addSpecialTokens ? [...(frame ? [bos] : []), ...plain, ...(closes ? [eos] : [])] : plain
    },
    decode: (ids, { skipSpecialTokens = false } = {}) => {
      const text = Array.from(ids, (id) => {
        if (id === bos || id === eos) return skipSpecialTokens ? "" : ["<s>", "</s>"][id - 1]
        return id === blank ? " " : (known[id - first] ?? "")
      }).join("")
      return dummy ? text.replace(/^ /, "") : text
    },
    applyChatTemplate: () => {
      throw new RangeError("no chats")
    }
  }
}

const sums = "0123456789+="
const idsOfSum = (text: string) => Array.from(text, (character) => 4 + sums.indexOf(character))

const alphabets = [sums, "ABC", "=", "αβγ", "a", "\n", "bcd\n"]

describe("PromptEncoder.make", () => {
  for (const alphabet of alphabets) {
    it.prop(
      `loses and adds nothing with the vocabulary ${JSON.stringify(alphabet)}`,
      [Schema.Array(Schema.Natural), Schema.Array(Schema.Natural), Schema.Boolean, Schema.Boolean, Schema.Boolean],
      ([left, right, frame, closes, dummy]) => {
        const tokenizer = tokenizerOf(alphabet, { closes, dummy, frame })
        const known = Array.from(alphabet)
        const textOf = (numbers: ReadonlyArray<number>) => numbers.map((n) => known[n % known.length]!).join("")
        const [prompt, more] = [textOf(left), textOf(right)]
        const encoder = PromptEncoder.make(tokenizer)
        const ids = known.map((_, index) => 4 + index)
        const idsOf = (text: string) => Array.from(text, (character) => ids[known.indexOf(character)]!)
        assert.deepStrictEqual(encoder.whole(prompt), [
          ...(frame ? [bos] : []),
          ...(dummy && prompt !== "" ? [blank] : []),
          ...idsOf(prompt)
        ])
        assert.deepStrictEqual(encoder.rest(more), idsOf(more))
      }
    )
  }

  it("gives a text of nothing but unknown characters its frame", () => {
    const encoder = PromptEncoder.make(tokenizerOf("0123", { frame: true }))
    assert.deepStrictEqual(encoder.whole("abc"), [bos])
    assert.deepStrictEqual(encoder.rest("abc"), [])
  })

  it("knows the frame even of a tokenizer that knows no text", () => {
    for (const closes of [false, true]) {
      const encoder = PromptEncoder.make(tokenizerOf("", { frame: true, closes }))
      assert.deepStrictEqual([encoder.whole("a"), encoder.rest("a")], [[bos], []])
    }
  })

  it("leaves bytes as they are", () => {
    const encoder = PromptEncoder.make(bytes)
    assert.deepStrictEqual(encoder.whole("hé"), [...Buffer.from("hé")])
    assert.deepStrictEqual(encoder.rest(" x"), [...Buffer.from(" x")])
  })

  it.effect("keeps a session over such a tokenizer in one sequence, its frame there once", () =>
    Effect.gen(function* () {
      const tokenizer = tokenizerOf(sums, { frame: true, dummy: true })
      const sent: Array<ReadonlyArray<number>> = []
      const session = TrackedSequences.make({
        tokenizer,
        backend: {
          server: "test",
          tokens: ({ inputIds }) =>
            Effect.sync(() => {
              sent.push(inputIds)
              // "7"
              return [{ tokens: [4 + 7], logprobs: [-1], finishReason: "stop" }]
            })
        }
      })
      yield* session.complete({ prompt: "3+4=" })
      yield* session.complete({ prompt: "3+4=7+1=" })
      assert.deepStrictEqual(sent, [
        [bos, blank, ...idsOfSum("3+4=")],
        [bos, blank, ...idsOfSum("3+4=7+1=")]
      ])
      assert.strictEqual((yield* session.trajectories).length, 1)
    })
  )
})
