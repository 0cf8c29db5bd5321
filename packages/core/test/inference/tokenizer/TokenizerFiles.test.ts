import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import * as TimeLimit from "../../../src/base/TimeLimit.ts"
import * as TokenizerFiles from "../../../src/inference/tokenizer/TokenizerFiles.ts"

/** Of GPT-2, GPT-4, Llama 3, Qwen, DeepSeek and o200k. */
const published = [
  "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
  "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*",
  "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}]*[\\p{Ll}\\p{Lm}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
]

describe("a pattern of a tokenizer", () => {
  it("that is published passes without a trial", () => {
    for (const pattern of published) assert.isFalse(TokenizerFiles.mayBacktrack(pattern), pattern)
  })

  it("that takes exponential time is found by trying it", () => {
    for (const pattern of ["(a+)+$", "(?:x|x)*y$", "(\\s*\\w+\\s*)+$", "^(([a-z])+.)+[A-Z]$", "(.*,){9,}P"]) {
      assert.isTrue(TokenizerFiles.mayBacktrack(pattern), pattern)
    }
    const slow = /(a+)+$/u
    assert.strictEqual(
      TokenizerFiles.endless(["(b)+", "(a+)+$"], (text) => slow.test(text)),
      "(b)+"
    )
    assert.strictEqual(
      TokenizerFiles.endless(["(?:a|b)+"], (text) => /(?:a|b)+/u.test(text)),
      undefined
    )
  })

  it.prop("is looked at without a failure, whatever it is", [Schema.String], ([pattern]) => {
    assert.isBoolean(TokenizerFiles.mayBacktrack(pattern))
  })
})

describe("tokenizer.json", () => {
  it.prop("is taken, or refused in words, whatever it is", [Schema.Unknown], ([value]) => {
    const result = TokenizerFiles.inspect(JSON.stringify(value) ?? "")
    assert.isTrue(Result.isSuccess(result) || typeof result.failure === "string")
  })
})

describe("a limit of time", () => {
  it("ends what does not end, and lets through what does: values, undefined, errors", () => {
    assert.throws(
      () =>
        TimeLimit.run(50, () => {
          for (;;);
        }),
      TimeLimit.TimeLimitError,
      "not done within 0.05 seconds"
    )
    assert.strictEqual(
      TimeLimit.run(3_600_000, () => 42),
      42
    )
    assert.strictEqual(
      TimeLimit.run(3_600_000, () => undefined),
      undefined
    )
    assert.throws(
      () =>
        TimeLimit.run(3_600_000, () => {
          throw new RangeError("mine")
        }),
      RangeError,
      "mine"
    )
  })
})
