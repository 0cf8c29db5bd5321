import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as PromptBound from "../../src/inference/tokenizer/PromptBound.ts"
import { bytes } from "../../src/inference/tokenizer/Tokenizer.ts"

/** A tokenizer that counts the characters it was given, and what was the longest text. */
const counting = (idsOf: (text: string) => ReadonlyArray<number> = (text) => bytes.encode(text)) => {
  const seen = { characters: 0, longest: 0 }
  const encode = (text: string) => {
    seen.characters += text.length
    seen.longest = Math.max(seen.longest, text.length)
    assert.isTrue(text.isWellFormed())
    return idsOf(text)
  }
  return { encode, seen }
}

/** A token is 128 characters. */
const long = (text: string) => Array.from({ length: Math.ceil(text.length / 128) }, () => 0)

describe("PromptBound", () => {
  it.effect("refuses a text that is far too long by its beginning", () =>
    Effect.gen(function* () {
      for (const text of ["word ".repeat(1_000_000), "😀".repeat(2_000_000), "\n".repeat(5_000_000)]) {
        const { encode, seen } = counting()
        assert.isTrue(yield* PromptBound.exceeds({ encode }, text, 512))
        assert.isAtMost(seen.characters, 2 * PromptBound.charactersPerToken * 512)
      }
    })
  )

  it.effect("counts in pieces a text whose tokens are long, and lets it be where it fits", () =>
    Effect.gen(function* () {
      const blanks = " ".repeat(1_000_000)
      const fitting = counting(long)
      assert.isFalse(yield* PromptBound.exceeds(fitting, blanks, 8000))
      assert.isAtMost(fitting.seen.longest, 65_536)
      const tooLong = counting(long)
      assert.isTrue(yield* PromptBound.exceeds(tooLong, blanks, 4000))
    })
  )

  it.effect("does not look at short texts, nor where nothing limits them", () =>
    Effect.gen(function* () {
      const { encode, seen } = counting()
      assert.isFalse(yield* PromptBound.exceeds({ encode }, "x".repeat(4096), 512))
      assert.isFalse(yield* PromptBound.exceeds({ encode }, "x".repeat(1_000_000), Number.POSITIVE_INFINITY))
      assert.strictEqual(seen.characters, 0)
    })
  )

  it.effect.prop("never refuses what fits", [Schema.String], ([text]) =>
    Effect.gen(function* () {
      const whole = text.toWellFormed().repeat(500)
      const tokens = bytes.encode(whole, { addSpecialTokens: false }).length
      assert.isFalse(yield* PromptBound.exceeds(bytes, whole, Math.max(1, tokens)))
    })
  )
})
