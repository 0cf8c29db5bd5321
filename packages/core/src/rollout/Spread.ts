/** Streaming mean, standard deviation (population, as in the original), max and min. */
export interface Spread {
  readonly count: () => number
  readonly add: (value: number) => void
  readonly figures: () => { readonly mean: number; readonly std: number; readonly max: number; readonly min: number }
}

export const make = (): Spread => {
  let count = 0
  let mean = 0
  let squares = 0
  let max = Number.NEGATIVE_INFINITY
  let min = Number.POSITIVE_INFINITY
  return {
    count: () => count,
    // Welford 1962: avoids the difference of two large sums.
    add: (value) => {
      count++
      const before = value - mean
      mean += before / count
      squares += before * (value - mean)
      max = Math.max(max, value)
      min = Math.min(min, value)
    },
    figures: () => ({ mean, std: Math.sqrt(squares / count), max, min })
  }
}

export const of = (values: ReadonlyArray<number>): ReturnType<Spread["figures"]> => {
  const spread = make()
  for (const value of values) spread.add(value)
  return spread.figures()
}
