/**
 * Defines a multiple-choice question: the question in words and in a few characters, and the choices, one of them
 * right.
 */
import type { SeededRandom } from "@atropos/core"

export type Random = SeededRandom.SeededRandom

/** A question before its choices are put in order. */
export interface Draft {
  readonly question: string
  /** The question in a few characters of `characters`. */
  readonly compact: string
  readonly right: string
  /** Distinct, and all of them wrong. */
  readonly wrong: ReadonlyArray<string>
  /** Spells out a choice in words, if it is more than its characters. */
  readonly format?: (choice: string) => string
}

export type Draw = (random: Random, choices: number) => Draft

export interface Question {
  readonly question: string
  readonly compact: string
  /** In the compact form. */
  readonly choices: ReadonlyArray<string>
  /** In words. */
  readonly texts: ReadonlyArray<string>
  readonly gold: number
}

/** Shuffles the choices; every position is equally likely for the right one. */
export const arrange = (random: Random, { compact, question, right, format = String, wrong }: Draft): Question => {
  const choices = random.shuffle([right, ...wrong])
  return { question, compact, choices, texts: choices.map(format), gold: choices.indexOf(right) }
}

/** A: the first choice. */
export const letterOf = (position: number): string => String.fromCharCode(65 + position)

/**
 * Wrong numbers near a right one. The distances between neighbours are random steps, and the right one's rank is drawn:
 * neither its rank nor its distances reveal it, except if it is too close to the `min` possible number.
 */
export const near = (
  random: Random,
  right: number,
  count: number,
  steps: ReadonlyArray<number>,
  min = 0
): ReadonlyArray<string> => {
  const sizes = steps.filter((step) => step > 0)
  const offsets = [0]
  for (let one = 0; one < count; one++) offsets.push(offsets.at(-1)! + random.pick(sizes))
  const possible = offsets.filter((offset) => right - offset >= min)
  const place = Math.min(random.between(0, count), possible.length - 1)
  return offsets.filter((_, index) => index !== place).map((offset) => String(right + offset - offsets[place]!))
}
