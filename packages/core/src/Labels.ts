/**
 * Masks and sampling logprobs as wires and files write them, and as they are inside.
 *
 *     outside   labels: the token id where trained, -100 elsewhere; some write 1 and 0    logprobs: 1 where not sampled
 *     inside    mask: 1 where trained, 0 elsewhere                                      logprobs: NaN where not sampled
 *
 * Outside forms are read and written at the edges alone: JSON and packed groups, saved trajectories, servers that
 * answer with labels, and what an environment's author gives. Writing what was read gives the same numbers, but for a
 * label that is neither the token nor -100: it comes back as the token, or as -100 where it is the 0 of a mask of zeros
 * and ones.
 */
/** The label of a token that is not trained on. */
export const untrained = -100

/** The logprob of a token that was not sampled, outside: an impossible value. */
export const unsampled = 1

/** A mask of zeros and ones that is not the tokens themselves is taken as what it says. */
const isBinary = (tokens: ArrayLike<number>, labels: ArrayLike<number>): boolean => {
  let isTokens = true
  for (let t = 0; t < labels.length; t++) {
    const label = labels[t]!
    if (label !== 0 && label !== 1) return false
    isTokens &&= label === tokens[t]
  }
  return !isTokens
}

/** (T) the mask of labels. */
export const toMask = (tokens: ArrayLike<number>, labels: ArrayLike<number>): Uint8Array<ArrayBuffer> => {
  const none = isBinary(tokens, labels) ? 0 : untrained
  const mask = new Uint8Array(labels.length)
  for (let t = 0; t < mask.length; t++) mask[t] = labels[t] === none ? 0 : 1
  return mask
}

/** Writes the labels of a mask into `labels` from `at` on. */
export const write = (labels: Int32Array, at: number, tokens: Int32Array, mask: Uint8Array): void => {
  for (let t = 0; t < mask.length; t++) labels[at + t] = mask[t] === 1 ? tokens[t]! : untrained
}

/** (T) the labels of a mask. */
export const ofMask = (tokens: Int32Array, mask: Uint8Array): Int32Array<ArrayBuffer> => {
  const labels = new Int32Array(mask.length)
  write(labels, 0, tokens, mask)
  return labels
}

/** (T) logprobs inside. */
export const toLogprobs = (outside: ArrayLike<number>): Float32Array<ArrayBuffer> => {
  const logprobs = new Float32Array(outside.length)
  for (let t = 0; t < logprobs.length; t++) logprobs[t] = outside[t] === unsampled ? Number.NaN : outside[t]!
  return logprobs
}

/** Writes logprobs for outside into `into` from `at` on. */
export const writeLogprobs = (into: Float32Array, at: number, logprobs: Float32Array): void => {
  for (let t = 0; t < logprobs.length; t++) into[at + t] = Number.isNaN(logprobs[t]!) ? unsampled : logprobs[t]!
}

/** (T) logprobs for outside. */
export const ofLogprobs = (logprobs: Float32Array): Float32Array<ArrayBuffer> => {
  const outside = new Float32Array(logprobs.length)
  writeLogprobs(outside, 0, logprobs)
  return outside
}
