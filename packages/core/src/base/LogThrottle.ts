/** Counts occurrences, so that repeated events are logged the first time and then ever more rarely. */

export interface LogThrottle {
  readonly count: (what: string) => number
}

/** Distinct events remembered; reasons may contain model output. */
const remembered = 1_000

export const make = (): LogThrottle => {
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

/** True for the first, second, fourth, eighth, … time. */
export const isWorthLogging = (times: number): boolean => Number.isInteger(Math.log2(times))
