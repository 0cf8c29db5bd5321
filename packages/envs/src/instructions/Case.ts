/** Constraints on capital letters: all, none, or a number of words in capitals. */
import { checker } from "./Constraint.ts"
import * as Counting from "./Counting.ts"

const upper = /[\p{Lu}\p{Lt}]/u
const lower = /\p{Ll}/u

export const uppercase = checker(
  "validate_uppercase",
  {},
  {
    instruction: () => "Write your whole answer in English and in capital letters only.",
    isMet: (text) => upper.test(text) && !lower.test(text)
  }
)

export const lowercase = checker(
  "validate_lowercase",
  {},
  {
    instruction: () => "Write your whole answer in English and without any capital letters.",
    isMet: (text) => lower.test(text) && !upper.test(text)
  }
)

const capitalWord = /(?<![\p{L}\p{N}_])\p{Lu}{2,}(?![\p{L}\p{N}_])/gu

/** Words of two capital letters or more. */
export const capitalWords = checker(
  "validate_frequency_capital_words",
  { N: Counting.Count, quantifier: Counting.Quantifier },
  {
    instruction: ({ N, quantifier }) =>
      `Words written in capital letters only, such as NASA, must occur ${quantifier} ${Counting.plural(N, "time")} in your answer.`,
    isMet: (text, { N, quantifier }) =>
      Counting.holds(text.match(capitalWord)?.length ?? 0, quantifier, N, Counting.tenth(N))
  }
)
