/**
 * Counter-based random numbers, a function of seed, choice and position, so that sampling does not depend on the batch.
 *
 * Philox-4x32 with 10 rounds: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3".
 */

const roundMultipliers = [0xd2511f53, 0xcd9e8d57] as const
const keyIncrements = [0x9e3779b9, 0xbb67ae85] as const

/** The upper 32 bits of a 32 by 32 bit product. */
const highProduct = (a: number, b: number): number => {
  const a0 = a & 0xffff
  const a1 = a >>> 16
  const b0 = b & 0xffff
  const b1 = b >>> 16
  const middle = a1 * b0 + ((a0 * b0) >>> 16)
  const low = a0 * b1 + (middle & 0xffff)
  // At most 2^32 - 1, so the sum stays exact.
  return (a1 * b1 + Math.floor(middle / 0x10000) + Math.floor(low / 0x10000)) >>> 0
}

type Words4 = readonly [number, number, number, number]

/** Four 32-bit words from a counter and a key. */
export const philox = (counter: Words4, key: readonly [number, number]): Words4 => {
  let [c0, c1, c2, c3] = counter
  let [k0, k1] = key
  for (let round = 0; round < 10; round++) {
    const high0 = highProduct(roundMultipliers[0], c0)
    const low0 = Math.imul(roundMultipliers[0], c0) >>> 0
    const high1 = highProduct(roundMultipliers[1], c2)
    const low1 = Math.imul(roundMultipliers[1], c2) >>> 0
    c0 = (high1 ^ c1 ^ k0) >>> 0
    c1 = low1
    c2 = (high0 ^ c3 ^ k1) >>> 0
    c3 = low0
    k0 = (k0 + keyIncrements[0]) >>> 0
    k1 = (k1 + keyIncrements[1]) >>> 0
  }
  return [c0, c1, c2, c3]
}

/** Uniform in [0, 1) with 53 bits. `seed` is any safe integer, including negative ones. */
export const uniform = (seed: number, choice: number, position: number): number => {
  const key = [seed >>> 0, Math.floor(seed / 0x1_0000_0000) >>> 0] as const
  const [high, low] = philox([position >>> 0, choice >>> 0, 0, 0], key)
  return ((high >>> 5) * 0x400_0000 + (low >>> 6)) / 0x20_0000_0000_0000
}
