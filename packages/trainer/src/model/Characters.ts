/**
 * A character-level tokenizer for models trained from scratch: id 0 ends a sequence, the characters follow in order.
 *
 * A chat is rendered as its contents, each followed by a line feed. Unknown characters are skipped. `files` is the same
 * tokenizer in Hugging Face format, in which characters beyond ASCII would be several tokens, so they are rejected.
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

/** The printable character that byte-level vocabularies use for an ASCII one: space is Ġ, line feed Ċ. */
const byteSymbol = (character: string): string => {
  const code = character.charCodeAt(0)
  if (code <= 32) return String.fromCharCode(256 + code)
  return code === 127 ? "\u0121" : character
}

/** `chat` in Jinja. */
const chatTemplate = "{% for message in messages %}{{ message['content'] }}{{ '\\n' }}{% endfor %}"

export const chat = (messages: ReadonlyArray<Message.Message>): string =>
  messages.map((message) => `${Message.text(message)}\n`).join("")

/** Throws `RangeError` for characters beyond ASCII, which is a bug in the caller. */
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
 * `tokenizer.json` and `tokenizer_config.json` for Hugging Face libraries: BPE without merges, and so character-level.
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
    // Without it, transformers pads with a token that the model does not have.
    pad_token: endText,
    chat_template: chatTemplate,
    clean_up_tokenization_spaces: false
  }
})
