/** The prompt before the answer, and two answers in one. */
import { TextAnswer } from "@atropos/core"
import { Schema } from "effect"
import { checker, saysSomething } from "./Constraint.ts"

const spaced = (text: string): string => text.trim().replaceAll(/\s+/g, " ")

/** The prompt, white space aside, then something of one's own. */
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
      const [given, wanted] = [spaced(text), spaced(prompt)]
      return given.startsWith(wanted) && saysSomething(given.slice(wanted.length))
    }
  }
)

const separator = /(?<!\*)\*{6}(?!\*)/

/** Two answers that differ in more than case and punctuation. */
export const twoResponses = checker(
  "validate_two_responses",
  {},
  {
    instruction: () => "Give two different answers, separated by six asterisks: ******",
    isMet: (text) => {
      const [first, second, ...more] = text.split(separator).map(TextAnswer.normalise)
      return (
        more.length === 0 &&
        first !== undefined &&
        second !== undefined &&
        first !== "" &&
        second !== "" &&
        first !== second
      )
    }
  }
)
