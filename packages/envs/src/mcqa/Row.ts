/** Multiple-choice questions of data sets. */
import { Result } from "effect"
import { letterOf, type Question } from "./Question.ts"

interface Row {
  readonly question: string
  readonly choices: ReadonlyArray<string>
  /** The number of the right choice from 0, its letter, or its text. */
  readonly answer: unknown
}

/** Letters run from A to Z. */
const mostChoices = 26

/** Position of the right choice: a text that is one of them, else a letter, else a number. */
const goldOf = ({ answer, choices }: Row): number | undefined => {
  const written = String(answer).trim()
  const named = choices.flatMap((choice, position) => (choice.trim() === written ? [position] : []))
  const byNumber = /^\d+$/.test(written) ? Number(written) : undefined
  const position =
    typeof answer === "string" && named.length === 1
      ? named[0]
      : (byNumber ?? choices.findIndex((_, at) => letterOf(at) === written.toUpperCase()))
  return position !== undefined && position >= 0 && position < choices.length ? position : undefined
}

/** The question of a row, or why there is none. */
export const fromRow = (row: Row): Result.Result<Question & { readonly samplingSeed: number }, string> => {
  const { answer, choices, question } = row
  if (choices.length < 2 || choices.length > mostChoices) {
    return Result.fail(`there must be 2 to ${mostChoices} choices, and there are ${choices.length}`)
  }
  const gold = goldOf(row)
  return gold === undefined
    ? Result.fail(`the answer ${JSON.stringify(String(answer))} is none of the ${choices.length} choices`)
    : Result.succeed({ question, compact: question, choices, texts: choices, gold, samplingSeed: 0 })
}
