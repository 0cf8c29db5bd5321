/**
 * Tells an answer from what only looks like one to the checkers: words strung together for their number, or the prompt
 * once more, which has its keywords and dividers in it.
 */
import type { Constraint } from "./Constraint.ts"
import { bareWord, words } from "./Counting.ts"

const window = 100
const fewest = 10
const leastDistinct = 0.25
const leastLong = 0.35

/**
 * Whether there are hardly any different words, or hardly any of three letters. Looks at each hundred words of a longer
 * text: ordinary prose has over 40 different ones in a hundred, and two thirds of them have three letters.
 */
export const isFiller = (text: string): boolean => {
  const all = words(text)
    .map((word) => bareWord(word).toLowerCase())
    .filter((word) => word !== "")
  for (let from = 0; from === 0 || from + fewest <= all.length; from += window) {
    const some = all.slice(from, from + window)
    if (some.length < fewest) continue
    const isRepetitive = new Set(some).size / some.length < leastDistinct
    const isShort = some.filter((word) => word.length >= 3).length / some.length < leastLong
    if (isRepetitive || isShort) return true
  }
  return false
}

const plain = (text: string): string => text.replaceAll(/\s+/g, " ").trim().toLowerCase()

/**
 * Whether the answer has the whole prompt in it, or one of its constraints as the prompt says it, and was not asked to.
 */
export const isCopy = (
  answer: string,
  { constraints, prompt }: { readonly prompt: string; readonly constraints: ReadonlyArray<Constraint> }
): boolean => {
  if (constraints.some(({ name }) => name === "validate_repeat_prompt")) return false
  const plainText = plain(answer)
  return [prompt, ...constraints.map(({ instruction }) => instruction)].some((text) => plainText.includes(plain(text)))
}
