/** Small tokenizers of every kind, held against what Python's `tokenizers` makes of the same files. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { readFileSync } from "node:fs"
import * as HuggingFaceTokenizer from "../../../src/inference/tokenizer/HuggingFaceTokenizer.ts"

const Ids = Schema.Array(Schema.Int)
const decoded = { ids: Ids, decoded: Schema.String, skipped: Schema.String }
const Kinds = Schema.Struct({
  texts: Schema.Array(Schema.String),
  kinds: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      tokenizer: Schema.Record(Schema.String, Schema.Unknown),
      texts: Schema.Array(Schema.Struct({ ...decoded, framed: Ids })),
      sequences: Schema.Array(Schema.Struct(decoded))
    })
  )
})
const file = new URL("../../fixtures/tokenizer-kinds.json", import.meta.url)
const { kinds, texts } = Schema.decodeSync(Schema.fromJsonString(Kinds))(readFileSync(file, "utf8"))

describe.each(kinds.map((kind) => [kind.name, kind] as const))("%s", (_, { sequences, texts: expected, tokenizer }) => {
  const { decode, encode } = HuggingFaceTokenizer.make(tokenizer, {}, undefined)

  it("encodes every text to the ids of Python, plain and framed", () => {
    for (const [at, { framed, ids }] of expected.entries()) {
      assert.deepStrictEqual(encode(texts[at]!, false), [...ids], texts[at])
      assert.deepStrictEqual(encode(texts[at]!, true), [...framed], texts[at])
    }
  })

  it("decodes ids of texts, ids at random and ids of no token as Python does", () => {
    for (const { decoded, ids, skipped } of [...expected, ...sequences]) {
      assert.strictEqual(decode([...ids], false), decoded, ids.join(" "))
      assert.strictEqual(decode([...ids], true), skipped, ids.join(" "))
    }
  })
})

const added = (id: number, content: string, more: object = { single_word: true, normalized: true }) => ({
  id,
  content,
  single_word: false,
  lstrip: false,
  rstrip: false,
  normalized: false,
  special: false,
  ...more
})

const words = (vocab: object, more: object) => ({
  added_tokens: [],
  normalizer: null,
  pre_tokenizer: { type: "Split", pattern: { String: " " }, behavior: "Isolated", invert: false },
  post_processor: null,
  decoder: null,
  model: { type: "WordLevel", unk_token: "?", vocab: { "?": 0, ...vocab } },
  ...more
})

/** Ids and texts as Python's tokenizers 0.23 gives them. */
describe("a small tokenizer", () => {
  const pieces = {
    added_tokens: [added(7, "tool"), added(8, "THE")],
    normalizer: { type: "Lowercase" },
    pre_tokenizer: { type: "WhitespaceSplit" },
    post_processor: null,
    decoder: { type: "WordPiece", prefix: "##", cleanup: false },
    model: {
      type: "WordPiece",
      unk_token: "[UNK]",
      continuing_subword_prefix: "##",
      max_input_chars_per_word: 100,
      vocab: { "[UNK]": 0, t: 1, "##o": 2, "##l": 3, "##s": 4, the: 5, "##n": 6 }
    }
  }
  const blanks = {
    added_tokens: [],
    normalizer: { type: "Strip", strip_left: true, strip_right: true },
    pre_tokenizer: { type: "Metaspace", replacement: "▁", prepend_scheme: "first", split: true },
    post_processor: null,
    decoder: null,
    model: { type: "BPE", unk_token: "<unk>", vocab: { "<unk>": 0, "▁": 1, h: 2, i: 3 }, merges: [] }
  }
  const fused = {
    ...blanks,
    normalizer: null,
    pre_tokenizer: { type: "WhitespaceSplit" },
    model: { ...blanks.model, fuse_unk: true }
  }
  const runs = (sides: object) => words({ a: 1, " ": 2 }, { added_tokens: [added(3, "  ", sides)] })
  const cases: ReadonlyArray<
    readonly [what: string, file: object, text: string, ids: Array<number>, decoded?: string]
  > = [
    ["does not take added tokens for pieces of words", pieces, "tools tool", [1, 2, 2, 3, 4, 7], "tools tool"],
    ["tells added tokens from pieces that read like them", pieces, "then the THE", [5, 6, 8, 8], "then the the"],
    ["puts a blank before the first word", blanks, "hi hi", [1, 2, 3, 1, 2, 3]],
    ["puts none where blanks were stripped", blanks, " hi", [2, 3]],
    ["puts none where a line separator was stripped", blanks, "\u2028hi ", [2, 3]],
    ["fuses unknown characters of a word, and not of the next one", fused, "xy z hi qq", [0, 0, 2, 3, 0]],
    ["finds a run of blanks again in those it stripped", runs({ rstrip: true }), "a    a", [1, 3, 3, 1]],
    ["strips a run of blanks that strips at both sides", runs({ lstrip: true, rstrip: true }), "a    a", [1, 3, 1]],
    [
      "finds tokens as written before those of the normalized text, without a normalizer too",
      words({ "<": 1, ">": 2 }, { added_tokens: [added(3, "<tool>", { normalized: true }), added(4, "tool", {})] }),
      "<tool>",
      [1, 4, 2]
    ],
    [
      "strips marks that take space from accented letters",
      words({ "\u0939\u0928": 1 }, { normalizer: { type: "StripAccents" } }),
      "\u0939\u093f\u0928",
      [1]
    ],
    [
      "puts nothing before a text of which nothing is left",
      words(
        { _a: 1 },
        {
          normalizer: {
            type: "Sequence",
            normalizers: [
              { type: "Strip", strip_left: true, strip_right: true },
              { type: "Prepend", prepend: "_" }
            ]
          }
        }
      ),
      "  ",
      []
    ],
    [
      "writes special tokens as they were normalized",
      words(
        { a: 1 },
        { normalizer: { type: "NFKD" }, added_tokens: [added(2, "\ufb01", { normalized: true, special: true })] }
      ),
      "a \ufb01",
      [1, 0, 2],
      "a ? fi"
    ],
    [
      "does not take a normalized word for an added token",
      words({}, { normalizer: { type: "Lowercase" }, added_tokens: [added(1, "tool", {})] }),
      "TOOL",
      [0]
    ],
    [
      "adds scores from the left where paths are almost equal",
      words(
        {},
        {
          pre_tokenizer: null,
          model: {
            type: "Unigram",
            unk_id: 0,
            byte_fallback: false,
            vocab: [
              ["?", 0],
              [" ", -1.8810868428712872],
              [" ".repeat(13), -6.890719679875309],
              ["x", -7.257717220842382]
            ]
          }
        }
      ),
      `${" ".repeat(40)}x`,
      [2, 2, 2, 1, 3]
    ]
  ]
  for (const [what, file, text, ids, decoded] of cases) {
    it(`${what}: ${JSON.stringify(text)}`, () => {
      const { decode, encode } = HuggingFaceTokenizer.make(file, {}, undefined)
      assert.deepStrictEqual(encode(text, false), ids)
      if (decoded !== undefined) assert.strictEqual(decode(ids, false), decoded)
    })
  }
})

describe("a tokenizer that cannot be followed exactly", () => {
  const [kind] = kinds
  const whole = kind!.tokenizer
  const model = { type: "BPE", vocab: { a: 0 }, merges: [] }
  const refused: ReadonlyArray<readonly [what: string, changed: object, complaint: RegExp]> = [
    ["a model of an unknown type", { model: { ...model, type: "Hashed" } }, /the model Hashed is not supported/],
    [
      "prefixes of continued words",
      { model: { ...model, continuing_subword_prefix: "##" } },
      /continuing_subword_prefix/
    ],
    [
      "ends of words without a token for unknown characters",
      { model: { ...model, end_of_word_suffix: "</w>" } },
      /end_of_word_suffix and without unk_token/
    ],
    [
      "an added token of which nothing is left",
      {
        normalizer: { type: "Strip", strip_left: true, strip_right: true },
        added_tokens: [added(0, "  ", { normalized: true })]
      },
      /leaves nothing of the added token " {2}"/
    ],
    ["merges at random", { model: { ...model, dropout: 0.1 } }, /dropout/],
    ["a table of replacements", { normalizer: { type: "Precompiled", precompiled_charsmap: "" } }, /Precompiled/],
    [
      "a table of replacements in a sequence",
      { normalizer: { type: "Sequence", normalizers: [{ type: "Precompiled", precompiled_charsmap: "" }] } },
      /Precompiled/
    ],
    ["an unknown normalizer", { normalizer: { type: "Nmt" } }, /Nmt/],
    ["an unknown pre-tokenizer", { pre_tokenizer: { type: "UnicodeScripts" } }, /UnicodeScripts/],
    [
      "the decoder of speech",
      { decoder: { type: "CTC", pad_token: "a", word_delimiter_token: "|", cleanup: true } },
      /CTC/
    ],
    ["an unknown decoder", { decoder: { type: "Mirror" } }, /Mirror/],
    ["an unknown post-processor", { post_processor: { type: "Mirror" } }, /Mirror/],
    [
      "a frame of other tokens",
      {
        post_processor: {
          type: "TemplateProcessing",
          single: [],
          pair: [],
          special_tokens: { "<s>": { id: "<s>", ids: [1, 2], tokens: ["<s>", "</s>"] } }
        }
      },
      /<s> stands for several tokens/
    ]
  ]
  for (const [what, changed, complaint] of refused) {
    it(`is refused by name: ${what}`, () => {
      assert.throws(() => HuggingFaceTokenizer.make({ ...whole, ...changed }, {}, undefined), complaint)
    })
  }

  it("refuses a text with characters it has no token for, where it has none for the unknown", () => {
    const words = {
      ...whole,
      model: { type: "WordLevel", vocab: { a: 0 }, unk_token: "[UNK]" },
      pre_tokenizer: null,
      added_tokens: []
    }
    const { encode } = HuggingFaceTokenizer.make(words, {}, undefined)
    assert.deepStrictEqual(encode("a", false), [0])
    assert.throws(() => encode("b", false), /no token for "b"/)
  })
})
