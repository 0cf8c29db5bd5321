import { Tokenizer } from "@atropos/core"
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import * as Template from "../../src/dataset/Template.ts"
import * as Likelihood from "../../src/suite/Likelihood.ts"
import * as MadeColumns from "../../src/suite/MadeColumns.ts"

describe("the likeliest choice", () => {
  it("is told by the sum of its logprobs, by its characters or by its bytes; of equals the first", () => {
    assert.strictEqual(Likelihood.likeliest([-3, -2, -2], ["a", "b", "c"]), 1)
    // -8 for eight characters is more than -2 for one.
    assert.strictEqual(Likelihood.likeliest([-2, -8], ["a", "abcdefgh"], "character"), 1)
    // A character of four bytes.
    assert.strictEqual(Likelihood.likeliest([-2, -3], ["ab", "🜁"], "byte"), 1)
    assert.strictEqual(Likelihood.likeliest([-2, -3], ["ab", "🜁"], "character"), 0)
  })
})

describe("prompt and choice", () => {
  it.prop(
    "are parted where the prompt without the blanks at its end ends, whatever they hold",
    [Schema.String, Schema.String],
    ([context, text]) => {
      const { start, tokens } = Likelihood.encode(Tokenizer.bytes, { context, text })
      const known = Tokenizer.bytes.encode(context.trimEnd())
      assert.deepStrictEqual(tokens.slice(0, start), known)
      assert.lengthOf(tokens, Math.max(known.length, Tokenizer.bytes.encode(context + text).length))
    }
  )
})

describe("columns that are made of others", () => {
  const made = {
    second: { of: "{ctx}", steps: ["capitalise"] },
    query: { of: "{label}: {second}", steps: ["strip", "bracketed", ["He", "She"]] },
    read: { each: "endings", steps: [["_", " "]] }
  } satisfies MadeColumns.MadeColumns

  it("come one after the other, lists text by text", () => {
    const row = { label: " Rowing", ctx: "he McLean [step]", endings: ["a_b", "c"] }
    const all = Result.getOrThrow(MadeColumns.add(row, made))
    assert.strictEqual(all["query"], "Rowing: She mclean ")
    assert.deepStrictEqual(all["read"], ["a b", "c"])
  })

  it("say which column they lack", () => {
    const missing = MadeColumns.add({ label: "x", endings: [] }, made)
    assert.include(
      Result.isFailure(missing) ? missing.failure : "",
      'missing column "ctx" (columns.second of the suite)'
    )
  })
})

describe("a column with no text in it", () => {
  it("leaves its place in a prompt empty", () => {
    assert.strictEqual(
      Template.fill("a{x}b", () => ""),
      "ab"
    )
    assert.strictEqual(
      Template.fill("a{x}b", () => " "),
      "a b"
    )
  })
})
