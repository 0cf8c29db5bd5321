/** How often things were seen, so that what happens over and over is told the first time and then ever more rarely. */

export interface Occurrences {
  /** Counts one more, and says how many there are now. */
  readonly count: (what: string) => number
}

/** Different things that are remembered; reasons may hold texts of models. */
const remembered = 1_000

export const make = (): Occurrences => {
  const counts = new Map<string, number>()
  return {
    count: (what) => {
      const times = (counts.get(what) ?? 0) + 1
      if (times === 1 && counts.size >= remembered) counts.clear()
      counts.set(what, times)
      return times
    }
  }
}

/** Of the first, second, fourth, eighth, … time. */
export const isWorthLogging = (times: number): boolean => Number.isInteger(Math.log2(times))
