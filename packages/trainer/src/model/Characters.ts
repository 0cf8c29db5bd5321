/**
 * A tokenizer of single characters, for models trained from scratch: id 0 ends a sequence, the characters follow in
 * their order.
 *
 * The end has no text. Of a chat the contents are seen, each followed by a line feed. Characters it does not know are
 * left out. `files` are the same tokenizer in Hugging Face's form, which writes the end as `<|end|>`. Characters are
 * ASCII: others would be several tokens there.
 */
import { Message, type Tokenizer } from "@atropos/core"

export const endId = 0
const endText = "<|end|>"

/** Throws `RangeError` for characters beyond ASCII. */
const distinct = (characters: string): ReadonlyArray<string> => {
  const known = Array.from(new Set(characters))
  const foreign = known.find((character) => character > "\x7f")
  if (foreign !== undefined)
    throw new RangeError(`${JSON.stringify(foreign)} is not ASCII: a character must be one byte`)
  return known
}

/** The printable character that byte-level vocabularies write an ASCII one with: blank is Ġ, line feed Ċ. */
const byteSymbol = (character: string): string => {
  const code = character.charCodeAt(0)
  if (code <= 32) return String.fromCharCode(256 + code)
  return code === 127 ? "\u0121" : character
}

/** `chat` in Jinja. */
const chatTemplate = "{% for message in messages %}{{ message['content'] }}{{ '\\n' }}{% endfor %}"

/** What a model of characters sees of a chat. */
export const chat = (messages: ReadonlyArray<Message.Message>): string =>
  messages.map((message) => `${Message.text(message)}\n`).join("")

/** Throws `RangeError` for characters beyond ASCII: a mistake of the program. */
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
    applyChatTemplate: chat
  }
}

/**
 * `tokenizer.json` and `tokenizer_config.json`, for the libraries of Hugging Face: pairs that are never merged, so
 * characters.
 */
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
    pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: false },
    post_processor: null,
    decoder: { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: false },
    model: {
      type: "BPE",
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab: Object.fromEntries([endText, ...distinct(characters).map(byteSymbol)].map((text, id) => [text, id])),
      merges: []
    }
  },
  "tokenizer_config.json": {
    tokenizer_class: "PreTrainedTokenizerFast",
    eos_token: endText,
    // Without one, transformers pads with a token of its own that the model does not have.
    pad_token: endText,
    chat_template: chatTemplate,
    clean_up_tokenization_spaces: false
  }
})
