/**
 * Assembles the experts that a mixture chose over a chain of answers (`ScoredGroup.routedExperts`): each answer
 * contributes its own choices from the end of its prompt's known prefix on.
 *
 * The choices recorded when an answer's tokens were sampled count, not those made when they are part of a later prompt.
 */

/** Choices of the positions from `from` on, `words` words each. */
export interface Routed {
  readonly from: number
  readonly words: number
  readonly data: Int32Array
}

/**
 * Choices of an answer of `tokens` tokens to a prompt of `prompt`, of which `known` were from earlier answers;
 * undefined if missing or incomplete.
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
  // The last token of an earlier answer was processed with this prompt.
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

/** Choices of a sequence of links; undefined if any link has none. */
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
