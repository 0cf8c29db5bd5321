/** Constraints on words and letters: required, a number of times, or forbidden. */
import { Schema } from "effect"
import { checker } from "./Constraint.ts"
import * as Counting from "./Counting.ts"

const Words = Schema.NonEmptyArray(Schema.NonEmptyString)

const list = (words: ReadonlyArray<string>): string => words.map((word) => JSON.stringify(word)).join(", ")

const spaced = (text: string): string => text.toLowerCase().replaceAll(/\s+/g, " ")

/** True if a word, or a phrase with any white space between its words, occurs in the text. */
const contains = (text: string, word: string): boolean => spaced(text).includes(spaced(word))

export const keywords = checker(
  "verify_keywords",
  { keyword_list: Words },
  {
    instruction: ({ keyword_list: target }) => `Use each of these words in your answer: ${list(target)}.`,
    isMet: (text, { keyword_list: target }) => target.every((word) => contains(text, word))
  }
)

export const keywordFrequency = checker(
  "verify_keyword_frequency",
  { word: Schema.NonEmptyString, N: Counting.Count },
  {
    instruction: ({ N, word }) =>
      `The word ${JSON.stringify(word)} must occur exactly ${Counting.plural(N, "time")} in your answer.`,
    isMet: (text, { N, word }) => Counting.occurrences(text, word) === N
  }
)

export const forbiddenWords = checker(
  "validate_forbidden_words",
  { forbidden_words: Words },
  {
    instruction: ({ forbidden_words: refused }) =>
      `Do not use any of these words, not even as a part of another word: ${list(refused)}.`,
    isMet: (text, { forbidden_words: refused }) => !refused.some((word) => contains(text, word))
  }
)

const Letter = Schema.String.check(
  Schema.makeFilter((text: string) => Array.from(text).length === 1 || "must be one character")
)

/** Case-sensitive. */
export const letterFrequency = checker(
  "verify_letter_frequency",
  { letter: Letter, N: Counting.Count },
  {
    instruction: ({ N, letter }) =>
      `The letter ${JSON.stringify(letter)}, written just so, must occur exactly ${Counting.plural(N, "time")} in your answer.`,
    isMet: (text, { N, letter }) => text.split(letter).length - 1 === N
  }
)
