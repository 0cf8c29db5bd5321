/**
 * Detects filler answers that satisfy the checkers: words strung together to reach a number, or copies of the prompt,
 * which contain its keywords and dividers.
 */
import type { Constraint } from "./Constraint.ts"
import { bareWord, words } from "./Counting.ts"

const window = 100
const fewest = 10
const minDistinct = 0.25
const minLong = 0.35

/**
 * True if a text has hardly any different words, or hardly any of three letters. Checks each hundred words of a longer
 * text: ordinary prose has over 40 different ones in a hundred, and two thirds of them have three letters.
 */
export const isFiller = (text: string): boolean => {
  const all = words(text)
    .map((word) => bareWord(word).toLowerCase())
    .filter((word) => word !== "")
  for (let from = 0; from === 0 || from + fewest <= all.length; from += window) {
    const some = all.slice(from, from + window)
    if (some.length < fewest) continue
    const isRepetitive = new Set(some).size / some.length < minDistinct
    const isShort = some.filter((word) => word.length >= 3).length / some.length < minLong
    if (isRepetitive || isShort) return true
  }
  return false
}

const plain = (text: string): string => text.replaceAll(/\s+/g, " ").trim().toLowerCase()

/** True if the answer contains the whole prompt, or one of its constraints verbatim, without being asked to. */
export const isCopy = (
  answer: string,
  { constraints, prompt }: { readonly prompt: string; readonly constraints: ReadonlyArray<Constraint> }
): boolean => {
  if (constraints.some(({ name }) => name === "validate_repeat_prompt")) return false
  const plainText = plain(answer)
  return [prompt, ...constraints.map(({ instruction }) => instruction)].some((text) => plainText.includes(plain(text)))
}
