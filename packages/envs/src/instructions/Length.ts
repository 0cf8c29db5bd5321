/** Constraints on the number of words, sentences and paragraphs. */
import { Schema } from "effect"
import { checker, saysSomething } from "./Constraint.ts"
import * as Counting from "./Counting.ts"

export const wordCount = checker(
  "validate_word_constraint",
  { N: Counting.Count, quantifier: Counting.Quantifier },
  {
    instruction: ({ N, quantifier }) => `Answer in ${quantifier} ${Counting.plural(N, "word")}.`,
    isMet: (text, { N, quantifier }) => Counting.holds(Counting.words(text).length, quantifier, N, Counting.tenth(N))
  }
)

/** "Around" is one more or less. */
export const sentenceCount = checker(
  "verify_sentence_constraint",
  { N: Counting.Count, quantifier: Counting.Quantifier },
  {
    instruction: ({ N, quantifier }) => `Answer in ${quantifier} ${Counting.plural(N, "sentence")}.`,
    isMet: (text, { N, quantifier }) => Counting.holds(Counting.sentences(text).length, quantifier, N, 1)
  }
)

const divider = "* * *"

/** A paragraph without text does not count, and fails. */
export const dividedParagraphs = checker(
  "verify_paragraph_count",
  { N: Counting.Count },
  {
    instruction: ({ N }) =>
      `Write exactly ${Counting.plural(N, "paragraph")}, with the divider ${divider} between them.`,
    isMet: (text, { N }) => {
      const parts = text.split(divider)
      return parts.length === N && parts.every(saysSomething)
    }
  }
)

const startsWith = (paragraph: string, target: string): boolean => {
  const words = paragraph.slice(paragraph.search(/[\p{L}\p{N}]/u)).toLowerCase()
  return words.startsWith(target) && !/^[\p{L}\p{N}]/u.test(words.slice(target.length))
}

/**
 * Paragraphs between blank lines, the `i`-th of which begins with a word, ignoring case and surrounding punctuation.
 */
export const firstWord = checker(
  "validate_paragraphs",
  { N: Counting.Count, first_word: Schema.NonEmptyString, i: Schema.Int.check(Schema.isGreaterThan(0)) },
  {
    instruction: ({ N, first_word: target, i }) =>
      `Write exactly ${Counting.plural(N, "paragraph")}, with blank lines between them; paragraph ${i} must begin with the word ${JSON.stringify(target)}.`,
    isMet: (text, { N, first_word: target, i }) => {
      const paragraphs = Counting.paragraphs(text)
      const paragraph = paragraphs[i - 1]
      return paragraphs.length === N && paragraph !== undefined && startsWith(paragraph, target.trim().toLowerCase())
    }
  }
)
