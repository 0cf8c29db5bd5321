/**
 * Speculates next tokens by prompt lookup: those that followed the last earlier occurrence of the sequence's current
 * ending (https://github.com/apoorvumang/prompt-lookup-decoding). Effective if answers copy text: quotes, edits.
 *
 * Speculation only affects how many positions of a run are useful. Every token is still sampled from the model's own
 * distribution given the tokens before it, with the random number of its position. Pure.
 */

/** Lengths of endings to search for, longest first. */
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
      // Beyond the current end it continues with its own tokens: repetitions continue to repeat.
      for (let next = end + 1; guessed.length < count; next++) {
        guessed.push(next < length ? at(next) : guessed[next - length]!)
      }
      return guessed
    }
  }
  return []
}
