import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { Tokenizer, Trajectory } from "@atropos/core"
import * as TokenText from "../../src/sets/TokenText.ts"

const { decode, encode } = Tokenizer.bytes

const all = (length: number) => Trajectory.maskFrom(0, length)

const Span = Schema.Struct({ text: Schema.String, isTrained: Schema.Boolean })

describe("TokenText", () => {
  it.prop(
    "cuts a sequence at its masks so that the parts are the whole",
    [Schema.Array(Span), Schema.Natural],
    ([parts, shift]) => {
      const tokens: Array<number> = []
      const labels: Array<number> = []
      for (const { isTrained, text } of parts) {
        const ids = encode(text)
        tokens.push(...ids)
        labels.push(...ids.map(() => (isTrained ? 1 : 0)))
      }
      // Cuts that fall inside a character, too.
      if (shift % 3 === 0 && labels.length > 1) labels.unshift(labels.pop()!)
      const mask = Uint8Array.from(labels)
      const spans = TokenText.spans(mask)
      assert.strictEqual(spans.at(-1)?.end ?? 0, mask.length)
      spans.forEach(({ end, isTrained, start }, index) => {
        assert.strictEqual(start, spans[index - 1]?.end ?? 0)
        for (let at = start; at < end; at++) assert.strictEqual(mask[at] === 1, isTrained)
      })
      const texts = TokenText.cut(
        decode,
        Int32Array.from(tokens),
        spans.slice(1).map(({ start }) => start)
      )
      assert.strictEqual(texts.join(""), decode(tokens))
      assert.strictEqual(texts.length, Math.max(1, spans.length))
    }
  )

  it.prop(
    "ends prompts before the first token that the model wrote, and leaves every completion a token",
    [Schema.Array(Schema.Struct({ tokens: Schema.Array(Schema.Natural), input: Schema.Natural }))],
    ([sequences]) => {
      const tokens = sequences.map((sequence) => sequence.tokens)
      const masks = sequences.map((sequence) =>
        Trajectory.maskFrom(sequence.input % (sequence.tokens.length + 1), sequence.tokens.length)
      )
      TokenText.promptLengths(tokens, masks).forEach((length, index) => {
        const { input: given, tokens } = sequences[index]!
        const start = given % (tokens.length + 1)
        if (start === tokens.length) assert.isUndefined(length)
        else if (start > 0) assert.strictEqual(length, start)
        else assert.isBelow(length!, tokens.length)
      })
    }
  )

  it("takes what sequences have in common for their prompt where masks take everything for written", () => {
    const tokens = [
      [1, 2, 3, 4],
      [1, 2, 5]
    ]
    assert.deepStrictEqual(TokenText.promptLengths(tokens, [all(4), all(3)]), [2, 2])
    assert.deepStrictEqual(TokenText.promptLengths([[1, 2]], [all(2)]), [1])
    // Identical sequences keep a completion.
    assert.deepStrictEqual(
      TokenText.promptLengths(
        [
          [1, 2],
          [1, 2]
        ],
        [all(2), all(2)]
      ),
      [1, 1]
    )
  })

  it("is not led astray by a prompt that the completion repeats", () => {
    const prompt = encode("Say it again: ")
    const completion = encode("Say it again: Say it again: ")
    const tokens = Int32Array.from([...prompt, ...completion])
    assert.deepStrictEqual(TokenText.cut(decode, tokens, [prompt.length]), [
      "Say it again: ",
      "Say it again: Say it again: "
    ])
  })

  it("moves a cut inside a character before it", () => {
    const tokens = Int32Array.from(encode("a🙂b"))
    assert.deepStrictEqual(TokenText.cut(decode, tokens, [3]), ["a", "🙂b"])
  })
})
