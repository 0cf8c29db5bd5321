/** Generates texts to reverse, and demonstrations of the compact task. */
import { SeededRandom } from "@atropos/core"
import type * as ExactAnswer from "../kit/ExactAnswer.ts"
import * as ItemSource from "../kit/ItemSource.ts"
import * as TextAnswer from "../verify/Text.ts"
import { words } from "../letters/Words.ts"

export interface Item {
  readonly text: string
  readonly samplingSeed: number
}

/** Length of texts: words in a chat, letters in a compact prompt. */
export interface Length {
  readonly fewest: number
  readonly max: number
}

const alphabet = "abcdefghijklmnopqrstuvwxyz"

export interface Compact {
  readonly letters: number
  readonly alphabetSize: number
}

/** By code points, as Python's `text[::-1]`. */
export const reversed = (text: string): string => Array.from(text).toReversed().join("")

/** Limit in characters, since the cost of the edit distance is the product of the lengths. */
const maxMeasuredLength = 1_000

/**
 * Similarity from 0 to 1: 1 minus the edit distance divided by the longer length; for long texts, the share of
 * characters in their place.
 */
export const likeness = (gold: string, input: string): number => {
  const [target, answer] = [Array.from(gold), Array.from(input)]
  const longer = Math.max(target.length, answer.length)
  if (longer === 0) return 1
  if (longer <= maxMeasuredLength) return 1 - TextAnswer.editDistance(gold, input) / longer
  return target.filter((character, index) => character === answer[index]).length / longer
}

/** English words, sometimes with a number or a mark between them. */
export const phrase =
  ({ fewest, max }: Length) =>
  (random: SeededRandom.SeededRandom, samplingSeed: number): Item => {
    const parts = Array.from({ length: random.between(fewest, max) }, () => {
      const word = random.pick(words)
      const written = random.chance(0.2) ? word[0]!.toUpperCase() + word.slice(1) : word
      return random.chance(0.1) ? String(random.between(2, 999)) : written + (random.chance(0.1) ? "," : "")
    })
    return { text: parts.join(" ").replace(/,$/, ""), samplingSeed }
  }

/** Letters drawn from the beginning of the alphabet. */
export const lettersOf =
  ({ alphabetSize, letters }: Compact) =>
  (random: SeededRandom.SeededRandom, samplingSeed: number): Item => ({
    text: Array.from({ length: letters }, () => alphabet[random.between(0, alphabetSize - 1)]!).join(""),
    samplingSeed
  })

export const compactPrompt = ({ text }: Pick<Item, "text">): string => `${text}=`

/** The vocabulary of the compact task. */
export const characters = ({ alphabetSize }: Pick<Compact, "alphabetSize">): string =>
  `${alphabet.slice(0, alphabetSize)}=`

/** The letters of a text in random order: teaches the format and to copy letters; the order is left to the reward. */
export const demonstration = (
  options: Compact & { readonly seed: number; readonly index: number }
): ExactAnswer.Demonstration => {
  const { index, seed } = options
  const item = ItemSource.drawAt({ seed, draw: lettersOf(options), key: compactPrompt }, index, false)
  const random = SeededRandom.seeded(seed + 1, index)
  return { prompt: compactPrompt(item), completion: random.shuffle(Array.from(item.text)).join("") }
}
