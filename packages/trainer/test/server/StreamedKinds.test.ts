/** Streams of text by small tokenizers of every kind, held against the streams of Python's `tokenizers`. */
import { assert, describe, it } from "@effect/vitest"
import type { Tokenizer } from "@atropos/core"
import { Schema } from "effect"
import * as HuggingFaceTokenizer from "../../../core/src/inference/tokenizer/HuggingFaceTokenizer.ts"
import { readFileSync } from "node:fs"
import * as TextPieces from "../../src/server/TextPieces.ts"

const Ids = Schema.Array(Schema.Int)
const Kinds = Schema.Struct({
  kinds: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      tokenizer: Schema.Record(Schema.String, Schema.Unknown),
      texts: Schema.Array(Schema.Struct({ ids: Ids, skipped: Schema.String })),
      streams: Schema.Array(Schema.Struct({ ids: Ids, pieces: Schema.Array(Schema.String) }))
    })
  )
})
const file = new URL("../../../core/test/fixtures/tokenizer-kinds.json", import.meta.url)
const { kinds } = Schema.decodeSync(Schema.fromJsonString(Kinds))(readFileSync(file, "utf8"))

describe.each(kinds.map((kind) => [kind.name, kind] as const))("%s", (_, { streams, texts, tokenizer: json }) => {
  const library = HuggingFaceTokenizer.make(json, {}, undefined)
  // Nothing else of a tokenizer is used to stream.
  const tokenizer = {
    decode: (ids: ArrayLike<number>, { skipSpecialTokens = false } = {}) =>
      ids.length === 0 ? "" : library.decode(Array.from(ids), skipSpecialTokens)
  } as Tokenizer.TokenizerShape
  const streamed = (ids: ReadonlyArray<number>, skipSpecialTokens: boolean) => {
    const { feed, rest } = TextPieces.make(tokenizer, { skipSpecialTokens })
    return { fed: ids.map(feed).join(""), rest: rest() }
  }

  it("streams the text that Python streams, and what is not whole at the end", () => {
    for (const { ids, pieces } of streams) {
      const { fed, rest } = streamed(ids, false)
      assert.strictEqual(fed.replace(/\uFFFD+$/, ""), pieces.join("").replace(/\uFFFD+$/, ""), ids.join(" "))
      assert.strictEqual(fed + rest, library.decode([...ids], false), ids.join(" "))
    }
  })

  it("streams the whole text where special tokens are left out of it", () => {
    for (const { ids, skipped } of texts) {
      const { fed, rest } = streamed(ids, true)
      assert.strictEqual(fed + rest, skipped, ids.join(" "))
    }
  })
})
