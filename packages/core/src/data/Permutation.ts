/**
 * A seeded order of 0..count-1: Fisher-Yates with mulberry32, so that the same numbers give the same order on every
 * machine and in every version. Seed and epoch are mixed: neighbouring ones give unrelated orders.
 */
export const permutation = (count: number, seed: number, epoch: number): Uint32Array => {
  const order = Uint32Array.from({ length: count }, (_, index) => index)
  const random = mulberry32(mix(mix(seed) ^ epoch))
  for (let last = count - 1; last > 0; last--) {
    const chosen = Math.floor(random() * (last + 1))
    const moved = order[last]!
    order[last] = order[chosen]!
    order[chosen] = moved
  }
  return order
}

/** The finaliser of MurmurHash3 over the low 32 bits, offset from zero by the golden ratio. */
const mix = (value: number): number => {
  let hash = (value + 0x9e3779b9) | 0
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return hash ^ (hash >>> 16)
}

const mulberry32 = (state: number) => (): number => {
  state = (state + 0x6d2b79f5) | 0
  let word = Math.imul(state ^ (state >>> 15), state | 1)
  word ^= word + Math.imul(word ^ (word >>> 7), word | 61)
  return ((word ^ (word >>> 14)) >>> 0) / 4294967296
}
