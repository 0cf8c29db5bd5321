/**
 * Averages what a Python package records of rollouts without rewarding it, per step, as metrics of the run:
 * `<environment>/<name>`, or `<environment>/<seat>/<name>` if the environment has several seats.
 */
import { Effect } from "effect"

/** Names that a package makes up as it runs; more are ignored. */
const maxNames = 256

/** The store rejects longer names. */
const maxNameLength = 256

export interface Recorded {
  readonly seat: string
  readonly metrics: { readonly [name: string]: number }
}

export interface PackageMetrics {
  readonly add: (traces: ReadonlyArray<Recorded>, seats: ReadonlyArray<string>) => void
  /** The means since the last call. */
  readonly take: Effect.Effect<{ readonly [name: string]: number }>
}

export const make = (environment: string): PackageMetrics => {
  const sums = new Map<string, { sum: number; count: number }>()
  return {
    add: (traces, seats) => {
      for (const { metrics, seat } of traces) {
        for (const [name, value] of Object.entries(metrics)) {
          const full = [environment, ...(seats.length > 1 ? [seat] : []), name].join("/").slice(0, maxNameLength)
          const known = sums.get(full)
          if (known === undefined && sums.size >= maxNames) continue
          sums.set(full, { sum: (known?.sum ?? 0) + value, count: (known?.count ?? 0) + 1 })
        }
      }
    },
    take: Effect.sync(() => {
      const means = Object.fromEntries(Array.from(sums, ([name, { count, sum }]) => [name, sum / count]))
      sums.clear()
      return means
    })
  }
}
