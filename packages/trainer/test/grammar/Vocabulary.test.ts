import { Tokenizer } from "@atropos/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { fileURLToPath } from "node:url"
import * as Characters from "../../src/model/Characters.ts"
import * as Vocabulary from "../../src/grammar/Vocabulary.ts"

const folder = fileURLToPath(new URL("../../../core/test/fixtures/tiny-tokenizer", import.meta.url))
const text = 'Grüße, 你好 🙂!\n\t{"a": [1, 2.5]}  the end'

/** Letters of byte-level BPE back to bytes: those of GPT-2's own that are not printable follow 255. */
const bytesOf = (word: string): ReadonlyArray<number> => {
  const others = Array.from({ length: 256 }, (_, byte) => byte).filter(
    (byte) => !((byte > 32 && byte < 127) || (byte > 160 && byte !== 173))
  )
  return Array.from(word, (letter) => {
    const code = letter.codePointAt(0)!
    return code < 256 ? code : others[code - 256]!
  })
}

const spelt = Effect.fnUntraced(function* (tokenizer: Tokenizer.TokenizerShape, text: string) {
  const known = yield* Vocabulary.of(tokenizer)
  const tokens = Vocabulary.tokens(known!, tokenizer.vocabularySize + 3)
  assert.deepStrictEqual([tokens.length, tokens.at(-1)], [tokenizer.vocabularySize + 3, ""])
  const ids = tokenizer.encode(text, { addSpecialTokens: false })
  return new TextDecoder().decode(Uint8Array.from(ids.flatMap((id) => bytesOf(tokens[id]!))))
})

describe("what tokens stand for", () => {
  it.effect("is a text's bytes, however its tokens cut its characters", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* spelt(Tokenizer.bytes, text), text)
      assert.strictEqual(yield* spelt(Characters.make("abc{}: \n"), "ab: {c}\n"), "ab: {c}\n")
      const tiny = yield* Tokenizer.Tokenizer
      assert.strictEqual(yield* spelt(tiny, text), text)
      // Special tokens are no text.
      assert.strictEqual(yield* spelt(Tokenizer.bytes, "a<|im_end|>b"), "ab")
    }).pipe(Effect.provide(Tokenizer.layerHuggingFace(folder)))
  )
})
