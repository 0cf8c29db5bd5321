/**
 * Reproducible random choices for generated items: the same seed and index give the same choices on every machine.
 *
 * Not Effect's `Random`: item number n must be reachable without drawing the n-1 before it. Mixer and generator are
 * public-domain constructions: splitmix32 over the seed and index.
 */
export interface SeededRandom {
  /** An integer from `minimum` to `maximum`, inclusive. */
  readonly between: (minimum: number, maximum: number) => number
  readonly pick: <A>(choices: ReadonlyArray<A>) => A
  readonly chance: (probability: number) => boolean
  readonly shuffle: <A>(elements: ReadonlyArray<A>) => Array<A>
  /** `count` distinct elements, or all if there are fewer, in random order. */
  readonly sample: <A>(elements: ReadonlyArray<A>, count: number) => Array<A>
}

const mix = (value: number): number => {
  let z = value | 0
  z = Math.imul(z ^ (z >>> 16), 0x21f0aaad)
  z = Math.imul(z ^ (z >>> 15), 0x735a2d97)
  return (z ^ (z >>> 15)) >>> 0
}

export const seeded = (seed: number, index: number): SeededRandom => {
  let state = mix(mix(seed) + Math.imul(index, 0x9e3779b9))
  const next = () => {
    state = (state + 0x9e3779b9) | 0
    return mix(state) / 2 ** 32
  }
  const between = (minimum: number, maximum: number) => minimum + Math.floor(next() * (maximum - minimum + 1))
  const shuffle = <A>(elements: ReadonlyArray<A>): Array<A> => {
    const shuffled = Array.from(elements)
    for (let last = shuffled.length - 1; last > 0; last--) {
      const selected = between(0, last)
      const moved = shuffled[last]!
      shuffled[last] = shuffled[selected]!
      shuffled[selected] = moved
    }
    return shuffled
  }
  return {
    between,
    pick: (choices) => choices[between(0, choices.length - 1)]!,
    chance: (probability) => next() < probability,
    shuffle,
    sample: (elements, count) => shuffle(elements).slice(0, count)
  }
}

/** A hash of every character of a text, for seeds or partitions. */
export const hashOf = (text: string): number => {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash >>> 0
}
