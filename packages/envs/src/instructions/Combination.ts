/** Constraints to repeat the prompt before the answer, or to give two answers. */
import { Schema } from "effect"
import { checker, saysSomething } from "./Constraint.ts"

const spaced = (text: string): string => text.trim().replaceAll(/\s+/g, " ")

/** The prompt, ignoring white space, followed by additional text. */
export const repeatPrompt = checker(
  "validate_repeat_prompt",
  {
    original_prompt: Schema.NonEmptyString.check(
      Schema.makeFilter((text) => saysSomething(text) || "must not be blank")
    )
  },
  {
    instruction: ({ original_prompt: prompt }) =>
      `First repeat this request word for word, without a change, then give your answer. The request: ${prompt}`,
    isMet: (text, { original_prompt: prompt }) => {
      const [input, target] = [spaced(text), spaced(prompt)]
      const own = input.slice(target.length)
      // "Name a colours." does not repeat "Name a colour".
      const isCut = /[\p{L}\p{N}]$/u.test(target) && /^[\p{L}\p{N}]/u.test(own)
      return input.startsWith(target) && saysSomething(own) && !isCut
    }
  }
)

/** Signs count: `+1` differs from `-1`, and `C++` from `C#`. */
const bare = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[\s.,;:!?'"“”*_~`()]+/g, " ")
    .trim()

const separator = /(?<!\*)\*{6}(?!\*)/

/** Two answers that differ in more than case and punctuation. */
export const twoResponses = checker(
  "validate_two_responses",
  {},
  {
    instruction: () => "Give two different answers, separated by six asterisks: ******",
    isMet: (text) => {
      const answers = text.split(separator).map(bare)
      return answers.length === 2 && answers.every(saysSomething) && answers[0] !== answers[1]
    }
  }
)
