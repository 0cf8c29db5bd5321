/**
 * A tokenizer of single characters, for models trained from scratch: id 0 ends a sequence, the characters follow in their order.
 *
 * The end has no text. Chats are refused: there is no template. Characters it does not know are left out. `files` are the same
 * tokenizer in Hugging Face's form, which writes the end as `<|end|>`.
 */
import type { Tokenizer } from "@atropos/core"

export const endId = 0
const endText = "<|end|>"

const distinct = (characters: string): ReadonlyArray<string> => Array.from(new Set(characters))

/** Throws `RangeError` for chats: a mistake of the program. */
export const make = (characters: string): Tokenizer.TokenizerShape => {
  const known = distinct(characters)
  const ids = new Map(known.map((character, index) => [character, index + 1]))
  const name = `characters:${known.join("")}`
  return {
    name,
    vocabularySize: known.length + 1,
    bosTokenId: undefined,
    eosTokenId: endId,
    encode: (text) => Array.from(text).flatMap((character) => ids.get(character) ?? []),
    decode: (tokens) => Array.from(tokens, (id) => known[id - 1] ?? "").join(""),
    applyChatTemplate: () => {
      throw new RangeError(`the tokenizer ${name} has no chats: give prompts as text`)
    }
  }
}

/** `tokenizer.json` and `tokenizer_config.json`, for the libraries of Hugging Face: pairs that are never merged, so characters. */
export const files = (characters: string): { readonly [file: string]: unknown } => ({
  "tokenizer.json": {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: [
      {
        id: endId,
        content: endText,
        single_word: false,
        lstrip: false,
        rstrip: false,
        normalized: false,
        special: true
      }
    ],
    normalizer: null,
    pre_tokenizer: null,
    post_processor: null,
    decoder: { type: "Fuse" },
    model: {
      type: "BPE",
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab: Object.fromEntries([endText, ...distinct(characters)].map((text, id) => [text, id])),
      merges: []
    }
  },
  "tokenizer_config.json": {
    tokenizer_class: "PreTrainedTokenizerFast",
    eos_token: endText,
    clean_up_tokenization_spaces: false
  }
})
