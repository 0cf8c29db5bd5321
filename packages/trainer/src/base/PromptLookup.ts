/**
 * Guesses what comes next from what was there before: the tokens that followed the last time the sequence had its
 * present ending (https://github.com/apoorvumang/prompt-lookup-decoding). Good where answers copy: quotes, edits.
 *
 * A guess decides nothing but how many positions of a run are of use. Every token is still drawn from the model's own
 * distribution after those before it, with the random number of its position. Pure.
 */

/** Endings of so many tokens are looked for, the longest first. */
const longest = 3
const shortest = 2

/** None, or `count` tokens that may follow `prompt` and `tokens`. */
export const guess = (
  prompt: ReadonlyArray<number>,
  tokens: ReadonlyArray<number>,
  count: number
): ReadonlyArray<number> => {
  const length = prompt.length + tokens.length
  const at = (index: number) => (index < prompt.length ? prompt[index]! : tokens[index - prompt.length]!)
  if (count <= 0) return []
  for (let size = Math.min(longest, length - 1); size >= shortest; size--) {
    for (let end = length - 2; end >= size - 1; end--) {
      let matched = 0
      while (matched < size && at(end - matched) === at(length - 1 - matched)) matched++
      if (matched < size) continue
      const guessed: Array<number> = []
      // Beyond the present end it goes on with itself: what repeats goes on repeating.
      for (let next = end + 1; guessed.length < count; next++) {
        guessed.push(next < length ? at(next) : guessed[next - length]!)
      }
      return guessed
    }
  }
  return []
}
