/** Constraints on the start, the end, and the punctuation of an answer. */
import { Schema } from "effect"
import { checker, saysSomething } from "./Constraint.ts"

const isWord = (character: string): boolean => /[\p{L}\p{N}]/u.test(character)

/**
 * Text followed by the phrase (and optionally a quotation mark): the phrase alone, or as the end of a longer word, does
 * not count.
 */
export const endPhrase = checker(
  "validate_end",
  { end_phrase: Schema.NonEmptyString },
  {
    instruction: ({ end_phrase: phrase }) =>
      `End your answer with exactly these words, and nothing after them: ${JSON.stringify(phrase.trim())}`,
    isMet: (text, { end_phrase: phrase }) => {
      const [trimmed, target] = [text.trim().replace(/"$/, ""), phrase.trim().replace(/"$/, "")]
      const before = trimmed.slice(0, trimmed.length - target.length)
      return (
        trimmed.endsWith(target) && saysSomething(before) && !(isWord(before.slice(-1)) && isWord(target.slice(0, 1)))
      )
    }
  }
)

export const quotation = checker(
  "validate_quotation",
  {},
  {
    instruction: () => "Put your whole answer between double quotation marks.",
    isMet: (text) => {
      const trimmed = text.trim()
      return trimmed.length > 2 && /^["“”„«»「『]/.test(trimmed) && /["”“»«」』]$/.test(trimmed)
    }
  }
)

/** Commas of other scripts count, too. */
export const noCommas = checker(
  "validate_no_commas",
  {},
  {
    instruction: () => "Do not use any commas.",
    isMet: (text) => !/[,，、،﹐﹑､]/u.test(text)
  }
)
