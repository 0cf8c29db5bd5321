/**
 * Samples a token from a row of logits, using per-block statistics from the graph instead of reading the whole
 * vocabulary.
 *
 * Applies temperature, top-k, top-p among the top k, then min-p, like transformers. Logprobs are log softmax(logits /
 * temperature)[token] over all tokens; sums over blocks are float64. Ties are ordered by token id. Pure.
 */
import type { Alternatives, Sampling } from "./EngineRequests.ts"

/** One row: V logits in V / blockSize blocks. */
export interface Row {
  readonly logits: Float32Array
  readonly inverseTemperature: number
  readonly maxima: Float32Array
  /** Sum over each block of exp((logit - max) * inverseTemperature), where max is the row's. */
  readonly sums: Float32Array
}

export interface Drawn {
  readonly token: number
  readonly logprob: number
}

/** Factor for the logits: 1 / temperature, or 1 for greedy sampling. */
export const inverseTemperature = ({ temperature }: Pick<Sampling, "temperature">): number =>
  temperature === 0 ? 1 : 1 / temperature

/** Up to this size, block statistics are computed here as fast as by a graph, and in float64. */
export const smallVocabulary = 512

/** The divisor of `vocabulary` nearest to its square root, up to 512: the block size with the cheapest sampling. */
export const blockSize = (vocabulary: number): number => {
  if (vocabulary <= smallVocabulary) return vocabulary
  const best = Math.min(512, Math.sqrt(vocabulary))
  let selected = vocabulary
  for (let size = 1; size <= 512; size++) {
    if (vocabulary % size === 0 && Math.abs(Math.log(size / best)) < Math.abs(Math.log(selected / best)))
      selected = size
  }
  return selected
}

/** Makes a row from plain logits, and computes its block statistics. */
export const row = (logits: Float32Array, inverseTemperature: number, size = blockSize(logits.length)): Row => {
  const blocks = logits.length / size
  const maxima = new Float32Array(blocks).fill(-Infinity)
  for (let i = 0; i < logits.length; i++) {
    const block = Math.floor(i / size)
    if (logits[i]! > maxima[block]!) maxima[block] = logits[i]!
  }
  const max = largest(maxima)
  const sums = new Float32Array(blocks)
  for (let block = 0; block < blocks; block++) {
    let sum = 0
    for (let i = block * size; i < (block + 1) * size; i++) sum += Math.exp((logits[i]! - max) * inverseTemperature)
    sums[block] = sum
  }
  return { logits, inverseTemperature, maxima, sums }
}

/** If the max drops by more nats than this, sums relative to the old max would lose precision. */
const rescaled = 16

/** Replaces some logits of a row, and recomputes the statistics of their blocks. */
export const replaced = (from: Row, changed: ReadonlyMap<number, number>): Row => {
  if (changed.size === 0) return from
  const { inverseTemperature } = from
  const size = from.logits.length / from.maxima.length
  const logits = from.logits.slice()
  for (const [token, logit] of changed) logits[token] = logit
  const blocks = new Set(Array.from(changed.keys(), (token) => Math.floor(token / size)))
  const maxima = from.maxima.slice()
  for (const block of blocks) maxima[block] = largest(logits.subarray(block * size, (block + 1) * size))
  const max = largest(maxima)
  const scale = (largest(from.maxima) - max) * inverseTemperature
  if (!(scale < rescaled)) return row(logits, inverseTemperature, size)
  const sums = from.sums.map((sum) => sum * Math.exp(scale))
  for (const block of blocks) {
    let sum = 0
    for (let i = block * size; i < (block + 1) * size; i++) sum += Math.exp((logits[i]! - max) * inverseTemperature)
    sums[block] = sum
  }
  return { logits, inverseTemperature, maxima, sums }
}

/** Keeps only the tokens of a mask (bit i % 32 of word i / 32 for token i); undefined if the mask is empty. */
export const masked = ({ inverseTemperature, logits: all, maxima: whole }: Row, mask: Int32Array): Row | undefined => {
  const size = all.length / whole.length
  const logits = new Float32Array(all.length).fill(-Infinity)
  const maxima = new Float32Array(whole.length).fill(-Infinity)
  const kept: Array<number> = []
  for (const [word, bits] of mask.entries()) {
    for (let left = bits; left !== 0; left &= left - 1) {
      const token = 32 * word + 31 - Math.clz32(left & -left)
      if (token >= all.length) break
      const block = Math.floor(token / size)
      const logit = all[token]!
      kept.push(token)
      logits[token] = logit
      if (logit > maxima[block]!) maxima[block] = logit
    }
  }
  if (kept.length === 0) return undefined
  const max = largest(maxima)
  const sums = new Float64Array(whole.length)
  for (const token of kept) sums[Math.floor(token / size)]! += Math.exp((logits[token]! - max) * inverseTemperature)
  return { logits, inverseTemperature, maxima, sums: Float32Array.from(sums) }
}

const largest = (values: Float32Array): number => {
  let max = -Infinity
  for (const value of values) if (value > max) max = value
  return max
}

const total = ({ sums }: Row): number => {
  let sum = 0
  for (const part of sums) sum += part
  return sum
}

/** log softmax(logits / temperature)[token]. */
export const logprob = (row: Row, token: number): number =>
  (row.logits[token]! - largest(row.maxima)) * row.inverseTemperature - Math.log(total(row))

/** The token selected by `uniform` in [0, 1). */
export const draw = (row: Row, sampling: Sampling, uniform: number): Drawn => {
  const { minP = 0, temperature, topK, topP } = sampling
  const max = largest(row.maxima)
  const sum = total(row)
  const token =
    temperature === 0
      ? greedy(row, max)
      : topP >= 1 && minP === 0 && (topK === 0 || topK >= row.logits.length)
        ? drawFromAll(row, max, uniform * sum)
        : drawFromTop(row, max, sum, { minP, topK, topP }, uniform)
  return { token, logprob: (row.logits[token]! - max) * row.inverseTemperature - Math.log(sum) }
}

/** The k most likely tokens; fewer if the vocabulary is smaller. */
export const alternatives = (row: Row, k: number): Alternatives => {
  const max = largest(row.maxima)
  const logSum = Math.log(total(row))
  const tokens = top(row, k)
  return { tokens, logprobs: tokens.map((token) => (row.logits[token]! - max) * row.inverseTemperature - logSum) }
}

const greedy = ({ logits, maxima }: Row, max: number): number => {
  const size = logits.length / maxima.length
  return logits.indexOf(max, Math.max(0, maxima.indexOf(max)) * size)
}

const drawFromAll = ({ inverseTemperature, logits, sums }: Row, max: number, target: number): number => {
  let before = 0
  let block = 0
  for (let i = 0; i < sums.length; i++) {
    if (sums[i] === 0) continue
    block = i
    if (before + sums[i]! > target) break
    before += sums[i]!
  }
  const size = logits.length / sums.length
  let selected = block * size
  for (let i = block * size; i < (block + 1) * size; i++) {
    const weight = Math.exp((logits[i]! - max) * inverseTemperature)
    if (weight === 0) continue
    // Keeps the last token if rounding puts the target beyond the block's sum.
    selected = i
    before += weight
    if (before > target) break
  }
  return selected
}

/** Tokens whose logit is at least `bound`, most likely first. */
const atLeast = ({ logits, maxima }: Row, bound: number): Array<number> => {
  const size = logits.length / maxima.length
  const tokens: Array<number> = []
  for (let block = 0; block < maxima.length; block++) {
    // Skip blocks below the bound, and fully masked blocks even if the bound is -Infinity.
    if (maxima[block]! < bound || maxima[block] === -Infinity) continue
    for (let i = block * size; i < (block + 1) * size; i++) if (logits[i]! >= bound) tokens.push(i)
  }
  return tokens.sort((a, b) => logits[b]! - logits[a]! || a - b)
}

/** k blocks contain a token that reaches the k-th largest maximum: no lower token is among the k most likely. */
const top = (row: Row, k: number): Array<number> => {
  const count = Math.min(k, row.logits.length)
  if (count === 0) return []
  const bound = count <= row.maxima.length ? row.maxima.slice().sort()[row.maxima.length - count]! : -Infinity
  return atLeast(row, bound).slice(0, count)
}

/** Widens the range of logits until it holds `share` of the probability. */
const nucleus = (row: Row, max: number, sum: number, share: number): Array<number> => {
  for (let width = 4; ; width *= 2) {
    const bound = width > 1024 ? -Infinity : max - width / row.inverseTemperature
    const tokens = atLeast(row, bound)
    let mass = 0
    for (const token of tokens) mass += Math.exp((row.logits[token]! - max) * row.inverseTemperature)
    if (mass >= share * sum || bound === -Infinity) return tokens
  }
}

/** Tokens at least `minP` times as likely as the most likely one. */
const likely = (row: Row, max: number, minP: number): Array<number> =>
  atLeast(row, max + Math.log(minP) / row.inverseTemperature)

const drawFromTop = (
  row: Row,
  max: number,
  sum: number,
  { minP, topK, topP }: { readonly minP: number; readonly topK: number; readonly topP: number },
  uniform: number
): number => {
  const tokens = topK > 0 ? top(row, topK) : topP >= 1 ? likely(row, max, minP) : nucleus(row, max, sum, topP)
  const weights = tokens.map((token) => Math.exp((row.logits[token]! - max) * row.inverseTemperature))
  const limit = topP * (topK > 0 ? weights.reduce((a, b) => a + b, 0) : sum)
  // The smallest prefix that reaches the limit, at least one token.
  let kept = 0
  let mass = 0
  do mass += weights[kept++]!
  while (kept < weights.length && mass < limit)
  // Weights are in descending order, and the first is 1.
  while (kept > 1 && weights[kept - 1]! < minP) mass -= weights[--kept]!
  let left = uniform * mass
  for (let i = 0; i < kept; i++) {
    left -= weights[i]!
    if (left < 0) return tokens[i]!
  }
  return tokens[kept - 1]!
}
