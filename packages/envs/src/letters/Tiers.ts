/**
 * Defines ten tiers of letter counting: a text, and the letters to count in it.
 *
 * Tiers 1 to 5 use dictionary words, the others strings of random letters; with a tier's probability several letters
 * are requested together. A share of the requested letters, drawn between 30% and 90% for each question, occurs in the
 * text. Source: letter_counting_environment.py of the original.
 */
import type { SeededRandom } from "@atropos/core"
import { words } from "./Words.ts"

type Random = SeededRandom.SeededRandom
type Range = readonly [min: number, max: number]

export interface Tier {
  /** Length of the text in letters. */
  readonly length: Range
  /** Probability of more than one letter. */
  readonly severalLetters: number
  /** Number of letters if there is more than one; at most 26. */
  readonly letters: Range
  readonly text: "word" | "random"
}

const tier = (length: Range, severalLetters: number, letters: Range, text: Tier["text"]): Tier => ({
  length,
  severalLetters,
  letters,
  text
})

/** By number, from 1. */
export const tiers: ReadonlyArray<Tier> = [
  tier([3, 8], 0, [1, 1], "word"),
  tier([5, 12], 0.5, [1, 2], "word"),
  tier([8, 18], 0.6, [2, 3], "word"),
  tier([10, 25], 0.8, [3, 5], "word"),
  tier([15, 35], 0.9, [5, 8], "word"),
  tier([40, 80], 1, [8, 12], "random"),
  tier([80, 150], 1, [12, 20], "random"),
  tier([150, 250], 1, [18, 30], "random"),
  tier([250, 400], 1, [25, 40], "random"),
  tier([400, 500], 1, [35, 50], "random")
]

const alphabet = Array.from("abcdefghijklmnopqrstuvwxyz")

export interface Question {
  readonly text: string
  /** In the order of the question. */
  readonly letters: ReadonlyArray<string>
}

const randomText = (random: Random, [min, max]: Range): string =>
  Array.from({ length: random.between(min, max) }, () => random.pick(alphabet)).join("")

const textOf = (random: Random, { length, text }: Tier): string => {
  const fitting = text === "word" ? words.filter((word) => word.length >= length[0] && word.length <= length[1]) : []
  return fitting.length === 0 ? randomText(random, length) : random.pick(fitting)
}

/** Letters to count: each one occurs in the text with the probability `present`, while both kinds are left. */
const lettersOf = (random: Random, text: string, count: number): ReadonlyArray<string> => {
  const present = random.between(30, 90) / 100
  const occurring = random.shuffle(alphabet.filter((letter) => text.includes(letter)))
  const absent = random.shuffle(alphabet.filter((letter) => !text.includes(letter)))
  return Array.from({ length: Math.min(count, alphabet.length) }, () => {
    const isPresent = absent.length === 0 || (occurring.length > 0 && random.chance(present))
    // At most the whole alphabet is drawn, so one of the two is never empty.
    return (isPresent ? occurring : absent).pop()!
  })
}

/** A question of tier `number`, 1 to 10. */
export const draw = (number: number, random: Random): Question => {
  const selected = tiers[number - 1] ?? tiers[0]!
  const text = textOf(random, selected)
  const [min, max] = selected.letters
  const count = random.chance(selected.severalLetters) ? random.between(Math.max(2, min), max) : 1
  return { text, letters: lettersOf(random, text, count) }
}

/** NFC, so that a letter and its mark are one letter however they are encoded. */
const normalized = (text: string): string => text.normalize("NFC").toLowerCase()

/** Counts of letters, ignoring case and Unicode's two forms of letters with marks. */
export const count = ({ letters, text }: Question): ReadonlyArray<number> => {
  const searched = normalized(text)
  return letters.map((letter) => searched.split(normalized(letter)).length - 1)
}
