/**
 * The text of sequences, cut where the tokens and masks say: what the model was given, and what it wrote.
 *
 * Cuts lie between tokens, and move back where a character lies across one, so that the parts joined are the text of
 * the whole. Nothing is looked for in the text: a prompt that occurs again in a completion, identical completions and
 * completions that begin alike change nothing (the original cuts at the longest common beginning of the strings, and
 * again at each of its repetitions).
 */
type Tokens = ArrayLike<number> & { readonly subarray: (start: number, end: number) => Tokens }
export type Decode = (tokens: ArrayLike<number>) => string

/** A part of a sequence, as positions in it. */
export interface Span {
  readonly start: number
  readonly end: number
  /** Whether the model wrote it. */
  readonly isTrained: boolean
}

/** A sequence in parts, given and written in turns. */
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

/** How many tokens some sequences have in common at their beginning. */
export const commonLength = (sequences: ReadonlyArray<ArrayLike<number>>): number => {
  const [first, ...others] = sequences
  if (first === undefined) return 0
  let length = 0
  while (length < first.length && others.every((other) => other[length] === first[length])) length++
  return length
}

/**
 * Where the prompts of a group end: before the first token that the model wrote. A sequence whose mask gives nothing as
 * written has no such place; where masks take everything for written, the prompt is what those sequences have in
 * common, but for a last token.
 */
export const promptLengths = (
  tokens: ReadonlyArray<ArrayLike<number>>,
  masks: ReadonlyArray<Uint8Array>
): ReadonlyArray<number | undefined> => {
  const first = masks.map((mask) => spans(mask).find(({ isTrained }) => isTrained)?.start)
  const common = commonLength(tokens.filter((_, index) => first[index] === 0))
  return first.map((start, index) => (start === 0 ? Math.min(common, tokens[index]!.length - 1) : start))
}

/** The text of some tokens in parts, cut before the tokens at these positions (ascending). */
export const cut = (decode: Decode, tokens: Tokens, positions: ReadonlyArray<number>): ReadonlyArray<string> => {
  const whole = decode(tokens)
  let from = 0
  const parts = positions.map((position) => {
    let to = from
    // Where tokens end inside a character their text is not how the whole begins.
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
