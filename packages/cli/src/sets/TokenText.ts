/**
 * Decodes sequences to text split by tokens and masks into given and written parts.
 *
 * Splits fall between tokens, and move back if a character spans one, so that the concatenated parts equal the whole
 * text. Text is never searched, so repeated prompts and common prefixes make no difference (the original splits at the
 * longest common prefix of the strings, and again at each repetition).
 */
type Tokens = ArrayLike<number> & { readonly subarray: (start: number, end: number) => Tokens }
export type Decode = (tokens: ArrayLike<number>) => string

export interface Span {
  readonly start: number
  readonly end: number
  /** True if the model wrote it. */
  readonly isTrained: boolean
}

/** The alternating given and written spans of a sequence. */
export const spans = (mask: Uint8Array): ReadonlyArray<Span> => {
  const found: Array<Span> = []
  let start = 0
  for (let at = 1; at <= mask.length; at++) {
    const isTrained = mask[start] === 1
    if (at < mask.length && (mask[at] === 1) === isTrained) continue
    found.push({ start, end: at, isTrained })
    start = at
  }
  return found
}

/** Length of the common prefix of some sequences, in tokens. */
export const commonLength = (sequences: ReadonlyArray<ArrayLike<number>>): number => {
  const [first, ...others] = sequences
  if (first === undefined) return 0
  let length = 0
  while (length < first.length && others.every((other) => other[length] === first[length])) length++
  return length
}

/**
 * Prompt lengths of a group: before the first token that the model wrote, undefined for a mask without such tokens. For
 * masks that cover everything, the prompt is the common prefix of those sequences, except for a last token.
 */
export const promptLengths = (
  tokens: ReadonlyArray<ArrayLike<number>>,
  masks: ReadonlyArray<Uint8Array>
): ReadonlyArray<number | undefined> => {
  const first = masks.map((mask) => spans(mask).find(({ isTrained }) => isTrained)?.start)
  const common = commonLength(tokens.filter((_, index) => first[index] === 0))
  return first.map((start, index) => (start === 0 ? Math.min(common, tokens[index]!.length - 1) : start))
}

/** Decodes tokens in parts, split before these positions (ascending). */
export const cut = (decode: Decode, tokens: Tokens, positions: ReadonlyArray<number>): ReadonlyArray<string> => {
  const whole = decode(tokens)
  let from = 0
  const parts = positions.map((position) => {
    let to = from
    // If tokens end inside a character, their text is not a prefix of the whole.
    for (let end = position; end > 0; end--) {
      const text = decode(tokens.subarray(0, end))
      if (!whole.startsWith(text)) continue
      to = Math.max(from, text.length)
      break
    }
    const part = whole.slice(from, to)
    from = to
    return part
  })
  return [...parts, whole.slice(from)]
}
