/**
 * Converts masks and sampling logprobs between the external form of wires and files and the internal form.
 *
 *     outside   labels: the token id where trained, -100 elsewhere; some write 1 and 0    logprobs: 1 where not sampled
 *     inside    mask: 1 where trained, 0 elsewhere                                      logprobs: NaN where not sampled
 *
 * Only edges use the external form: JSON and packed groups, saved trajectories, servers that answer with labels, and
 * values from an environment's author. A round trip preserves all numbers, except labels that are neither the token nor
 * -100: they come back as the token, or as -100 for the 0 of a binary mask.
 */
/** The label of a token that is not trained on. */
export const untrained = -100

/** External logprob of a token that was not sampled: an impossible value. */
export const unsampled = 1

/** Labels of zeros and ones that differ from the tokens are read as a mask. */
const isBinary = (tokens: ArrayLike<number>, labels: ArrayLike<number>): boolean => {
  let isTokens = true
  for (let t = 0; t < labels.length; t++) {
    const label = labels[t]!
    if (label !== 0 && label !== 1) return false
    isTokens &&= label === tokens[t]
  }
  return !isTokens
}

/** (T) labels to mask. */
export const toMask = (tokens: ArrayLike<number>, labels: ArrayLike<number>): Uint8Array<ArrayBuffer> => {
  const none = isBinary(tokens, labels) ? 0 : untrained
  const mask = new Uint8Array(labels.length)
  for (let t = 0; t < mask.length; t++) mask[t] = labels[t] === none ? 0 : 1
  return mask
}

/** Writes the labels of a mask into `labels`, starting at `at`. */
export const write = (labels: Int32Array, at: number, tokens: Int32Array, mask: Uint8Array): void => {
  for (let t = 0; t < mask.length; t++) labels[at + t] = mask[t] === 1 ? tokens[t]! : untrained
}

/** (T) mask to labels. */
export const ofMask = (tokens: Int32Array, mask: Uint8Array): Int32Array<ArrayBuffer> => {
  const labels = new Int32Array(mask.length)
  write(labels, 0, tokens, mask)
  return labels
}

/** (T) external to internal logprobs. */
export const toLogprobs = (outside: ArrayLike<number>): Float32Array<ArrayBuffer> => {
  const logprobs = new Float32Array(outside.length)
  for (let t = 0; t < logprobs.length; t++) logprobs[t] = outside[t] === unsampled ? Number.NaN : outside[t]!
  return logprobs
}

/** Writes external logprobs into `into`, starting at `at`. */
export const writeLogprobs = (into: Float32Array, at: number, logprobs: Float32Array): void => {
  for (let t = 0; t < logprobs.length; t++) into[at + t] = Number.isNaN(logprobs[t]!) ? unsampled : logprobs[t]!
}

/** (T) internal to external logprobs. */
export const ofLogprobs = (logprobs: Float32Array): Float32Array<ArrayBuffer> => {
  const outside = new Float32Array(logprobs.length)
  writeLogprobs(outside, 0, logprobs)
  return outside
}
