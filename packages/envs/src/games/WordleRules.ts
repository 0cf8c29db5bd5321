/**
 * Implements the rules of Wordle: guess a hidden word of five letters within six guesses; each letter is marked as
 * right, elsewhere or absent.
 *
 * Pure. A letter that occurs once in the hidden word is marked once, right places first. `known` is the share of
 * information gained so far, by the logarithm of the number of words left. It depends on the marks alone, never on the
 * hidden word.
 */
import { words } from "./Words.ts"

export const length = 5
export const maxGuesses = 6

/** g: right place, y: elsewhere in the word, x: not (or not once more) in it. */
export type Marks = string

export const mark = (guess: string, hidden: string): Marks => {
  const left = Array.from(hidden)
  const marks = Array.from(guess, (letter, at) => {
    if (hidden[at] !== letter) return "x"
    left[at] = ""
    return "g"
  })
  return marks
    .map((one, at) => {
      const elsewhere = one === "x" ? left.indexOf(guess[at]!) : -1
      if (elsewhere === -1) return one
      left[elsewhere] = ""
      return "y"
    })
    .join("")
}

export interface Guess {
  readonly word: string
  readonly marks: Marks
}

/** The words consistent with every guess so far. */
export const candidates = (guesses: ReadonlyArray<Guess>): ReadonlyArray<string> =>
  words.filter((word) => guesses.every((guess) => mark(guess.word, word) === guess.marks))

const isWord: ReadonlySet<string> = new Set(words)
export const isKnown = (word: string): boolean => isWord.has(word)

/** Share of the information gained so far, 0 (none) to 1 (one word is left). */
export const known = (guesses: ReadonlyArray<Guess>): number =>
  1 - Math.log2(Math.max(1, candidates(guesses).length)) / Math.log2(words.length)
