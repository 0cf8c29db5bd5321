/**
 * Normalizes a text as Python's `tokenizers` does for the normalizers of `tokenizer.json` for which the library
 * differs.
 */

type Config = { readonly [key: string]: unknown }

export type Normalize = (text: string) => string

const blanks = { left: /^\p{White_Space}+/u, right: /(?<!\p{White_Space})\p{White_Space}+$/u }

/** Per character, independent of its position in a word. */
const lowercase: Normalize = (text) => Array.from(text, (character) => character.toLowerCase()).join("")

/** BERT's normalizer keeps marks that take space, such as the vowels of Hindi. */
const withoutAccents: Normalize = (text) => text.replace(/\p{Mn}/gu, "")
const withoutMarks: Normalize = (text) => text.replace(/\p{M}/gu, "")

const chinese =
  /[\u{4E00}-\u{9FFF}\u{3400}-\u{4DBF}\u{20000}-\u{2A6DF}\u{2A700}-\u{2B73F}\u{2B740}-\u{2B81F}\u{2B920}-\u{2CEAF}\u{F900}-\u{FAFF}\u{2F800}-\u{2FA1F}]/gu

const cleaned: Normalize = (text) => text.replace(/(?![\t\n\r])[\p{C}\uFFFD]/gu, "").replace(/\p{White_Space}/gu, " ")

const bert = (config: Config): Normalize => {
  const lowercases = config["lowercase"] === true
  const strips = config["strip_accents"] ?? lowercases
  return (text) => {
    const clean = config["clean_text"] === true ? cleaned(text) : text
    const spaced = config["handle_chinese_chars"] === true ? clean.replace(chinese, " $& ") : clean
    const stripped = strips === true ? withoutAccents(spaced.normalize("NFD")) : spaced
    return lowercases ? lowercase(stripped) : stripped
  }
}

/** A normalizer's function, if the library's differs; `pattern` is the library's compiled pattern of a replacement. */
export const normalizeOf = (config: Config, pattern: RegExp | null | undefined): Normalize | undefined => {
  switch (config["type"]) {
    case "BertNormalizer":
      return bert(config)
    case "Lowercase":
      return lowercase
    case "StripAccents":
      return withoutMarks
    case "Prepend": {
      const prefix = typeof config["prepend"] === "string" ? config["prepend"] : ""
      return (text) => (text === "" ? "" : prefix + text)
    }
    case "Strip":
      return (text) => {
        const left = config["strip_left"] === true ? text.replace(blanks.left, "") : text
        return config["strip_right"] === true ? left.replace(blanks.right, "") : left
      }
    case "Replace": {
      const content = typeof config["content"] === "string" ? config["content"] : ""
      return pattern ? (text) => text.replace(pattern, () => content) : undefined
    }
    default:
      return undefined
  }
}
