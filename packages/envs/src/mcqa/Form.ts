/** Writes and judges multiple-choice questions: in a chat, or in a few characters. */
import * as ChoiceAnswer from "../verify/choice/Choice.ts"
import * as Thinking from "../kit/Thinking.ts"
import { letterOf, type Question } from "./Question.ts"

/** The vocabulary of the compact task. */
export const characters = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEF+-*,.:@<?="

/** `7+4?A9B11C12=`, answered by `B`. */
export const compactPrompt = ({ choices, compact }: Question): string =>
  `${compact}?${choices.map((choice, position) => `${letterOf(position)}${choice}`).join("")}=`

/** A key that is independent of the order of the choices. */
export const key = ({ choices, compact }: Question): string => `${compact}?${choices.toSorted().join("/")}`

const thinkFirst = "Think step by step between <think> and </think>, then answer. "

export const chatPrompt = ({ question, texts }: Question, thinking: boolean): string =>
  `${question}

${texts.map((text, position) => `${letterOf(position)}. ${text}`).join("\n")}

${thinking ? thinkFirst : ""}Your answer must have this sentence, with the letter of your choice for X: The best answer is: X`

/** A letter by itself is not the requested sentence. */
const weak: ReadonlySet<ChoiceAnswer.Method> = new Set(["stated", "alone"])

/**
 * The letter of the choice that is announced by its letter or text; with `thinking`, after the only think block.
 * Without it, a think block is ignored if present.
 */
export const letterIn = (
  { texts }: Pick<Question, "texts">,
  completion: string,
  thinking: boolean
): string | undefined => {
  const answer = Thinking.answer(completion, thinking)
  const choice = answer === undefined ? undefined : ChoiceAnswer.extract(answer, texts)
  return choice === undefined || weak.has(choice.method) ? undefined : choice.label
}

export const isRight = (question: Question, completion: string, thinking: boolean): boolean =>
  letterIn(question, completion, thinking) === letterOf(question.gold)

export const chatCompletion = (position: number, thinking: boolean): string =>
  `${thinking ? "<think>I compare the choices one by one.</think>" : ""}The best answer is: ${letterOf(position)}`
