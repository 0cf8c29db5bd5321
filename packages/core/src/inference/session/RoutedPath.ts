/**
 * The experts that a mixture chose over a chain of answers (`ScoredGroup.routedExperts`): of each answer its own
 * choices from where its prompt's known beginning ends, put together for whole sequences.
 *
 * What an answer's tokens passed when they were sampled counts, not what they passed as part of a later prompt.
 */

/** Choices of the positions from `from` on, `words` words each. */
export interface Routed {
  readonly from: number
  readonly words: number
  readonly data: Int32Array
}

/**
 * Of an answer of `tokens` tokens to a prompt of `prompt`, of which `known` were those of earlier answers; undefined
 * where they are not given, or not for all.
 */
export const ofAnswer = (
  given: Int32Array | undefined,
  prompt: number,
  tokens: number,
  known: number
): Routed | undefined => {
  const positions = prompt + tokens - 1
  if (given === undefined || positions <= 0 || given.length % positions !== 0) return undefined
  const words = given.length / positions
  // The last token of an earlier answer went through the model with this prompt.
  const from = Math.max(0, known - 1)
  return { from, words, data: given.slice(from * words) }
}

export interface Link {
  readonly routed: Routed | undefined
  /** Tokens of the sequence before the answer, those of the answer, and how many of these are kept. */
  readonly start: number
  readonly tokens: number
  readonly kept: number
}

/** Of a sequence of links; undefined where one has none. */
export const ofLinks = (links: ReadonlyArray<Link>): Int32Array | undefined => {
  const last = links.at(-1)
  const words = last?.routed?.words
  if (last === undefined || words === undefined) return undefined
  const whole = new Int32Array((last.start + last.kept - 1) * words)
  let done = 0
  for (const { kept, routed, start, tokens } of links) {
    const end = start + Math.min(kept, tokens - 1)
    if (routed === undefined || routed.words !== words || routed.from > done) return undefined
    if (end <= done) continue
    const part = routed.data.subarray((done - routed.from) * words, (end - routed.from) * words)
    whole.set(part.subarray(0, whole.length - done * words), done * words)
    done = end
  }
  return done * words >= whole.length ? whole : undefined
}
