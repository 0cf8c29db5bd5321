/** A multiple-choice question: what is asked, in words and in a few characters, and the choices, one of them right. */
import type { SeededRandom } from "@atropos/core"

export type Random = SeededRandom.SeededRandom

/** A question before its choices are put in order. */
export interface Draft {
  readonly question: string
  /** The same in a few characters of `characters`. */
  readonly compact: string
  readonly right: string
  /** Different from each other and from the right one, and each of them wrong. */
  readonly wrong: ReadonlyArray<string>
  /** How a choice is said in words, where it is more than its characters. */
  readonly say?: (choice: string) => string
}

/** Makes a question with this many choices. */
export type Draw = (random: Random, choices: number) => Draft

export interface Question {
  readonly question: string
  readonly compact: string
  /** As characters. */
  readonly choices: ReadonlyArray<string>
  /** In words. */
  readonly texts: ReadonlyArray<string>
  /** Position of the right one. */
  readonly gold: number
}

/** The choices in an order in which every position is as likely for the right one. */
export const arrange = (random: Random, { compact, question, right, say = String, wrong }: Draft): Question => {
  const choices = random.shuffle([right, ...wrong])
  return { question, compact, choices, texts: choices.map(say), gold: choices.indexOf(right) }
}

/** A: the first choice. */
export const letterOf = (position: number): string => String.fromCharCode(65 + position)

/**
 * Wrong numbers near a right one. All of them are made of steps, then the right one's place among them is drawn:
 * neither its rank nor its distances say anything, but where it is too close to the `least` number there can be.
 */
export const near = (
  random: Random,
  right: number,
  count: number,
  steps: ReadonlyArray<number>,
  least = 0
): ReadonlyArray<string> => {
  const sizes = steps.filter((step) => step > 0)
  const offsets = [0]
  for (let one = 0; one < count; one++) offsets.push(offsets.at(-1)! + random.pick(sizes))
  const possible = offsets.filter((offset) => right - offset >= least)
  const place = Math.min(random.between(0, count), possible.length - 1)
  return offsets.filter((_, index) => index !== place).map((offset) => String(right + offset - offsets[place]!))
}
