/**
 * Prefers short answers once all of a group are right: full score up to a threshold, then linearly down to 0 at the
 * token limit.
 *
 * Applies only if every score is exactly 1; any other group is returned unchanged. Source: gsm8k_server.py of the
 * original.
 */
export const lengthPenalty = (
  scores: ReadonlyArray<number>,
  lengths: ReadonlyArray<number>,
  { maxTokenLength, threshold = 0.5 }: { readonly maxTokenLength: number; readonly threshold?: number }
): ReadonlyArray<number> => {
  if (!scores.every((score) => score === 1)) return scores
  const free = threshold * maxTokenLength
  return lengths.map((length) => (length <= free ? 1 : 1 - Math.min(1, (length - free) / (maxTokenLength - free))))
}

/**
 * Scores by length alone, for groups whose answers are all right: 1 for the shortest, -1 for the longest, cos(π (l -
 * min) / (max - min)) between. Undefined if they differ by no more than `minimumSpread` of the shortest, because then
 * none is preferable. Source: math_server.py of the original.
 */
export const cosineLengths = (
  lengths: ReadonlyArray<number>,
  { minimumSpread = 0.1 }: { readonly minimumSpread?: number } = {}
): ReadonlyArray<number> | undefined => {
  const shortest = Math.min(...lengths)
  const spread = Math.max(...lengths) - shortest
  if (!(spread > minimumSpread * shortest)) return undefined
  return lengths.map((length) => Math.cos((Math.PI * (length - shortest)) / spread))
}
