/** Lists the kinds of generated questions, and a generator over some of them. */
import * as Calendar from "./Calendar.ts"
import * as Numbers from "./Numbers.ts"
import { arrange, type Draw, type Question, type Random } from "./Question.ts"
import * as Words from "./Words.ts"

const kinds = (largest: number) => ({
  arithmetic: [Numbers.arithmetic(largest)],
  comparison: [Numbers.comparison(largest)],
  sequence: [Numbers.sequence],
  units: [Numbers.conversion],
  calendar: [Calendar.weekday, Calendar.month, Calendar.monthLength, Calendar.leapYear],
  letters: [Words.letterCount, Words.letterAt, Words.alphabetLetter],
  words: [Words.backwards, Words.dictionary, Words.kindOf]
})

export type Kind = keyof ReturnType<typeof kinds>

export const kindNames = [
  "arithmetic",
  "comparison",
  "sequence",
  "units",
  "calendar",
  "letters",
  "words"
] as const satisfies ReadonlyArray<Kind>

/** Maximum number of choices: a week has seven days. */
export const mostChoices = 6

export interface Options {
  readonly kinds: ReadonlyArray<Kind>
  readonly choices: number
  /** Largest number in sums and comparisons. */
  readonly largest: number
}

export const draw = ({ choices, kinds: selected, largest }: Options) => {
  const all = kinds(largest)
  return (random: Random): Question => {
    const makers: ReadonlyArray<Draw> = all[random.pick(selected)]
    return arrange(random, random.pick(makers)(random, choices))
  }
}
