/**
 * Keeps metrics over the last requests to one server, in bounded memory.
 *
 * Adding is O(1); metrics are computed on demand, over at most `length` entries.
 */

/** One attempt at a request. Times in milliseconds since the epoch. */
export interface Attempt {
  readonly startedAt: number
  readonly endedAt: number
  /** Tokens generated; 0 for a failure. */
  readonly tokens: number
  readonly succeeded: boolean
  /** Not the first attempt at its request. */
  readonly isRetry: boolean
}

/** Times in seconds; latencies are of successful attempts. */
export interface Figures {
  readonly count: number
  readonly failures: number
  readonly retries: number
  readonly latencyMean: number
  /** Population standard deviation, as in the original. */
  readonly latencyStd: number
  readonly latencyMax: number
  readonly latencyP95: number
  readonly latencyP99: number
  /** Tokens generated per second of wall-clock time, from the first start to the last end in the buffer. */
  readonly tokensPerSecond: number
}

export interface RollingBuffer {
  readonly add: (attempt: Attempt) => void
  readonly figures: () => Figures
}

export const make = (length: number): RollingBuffer => {
  const attempts: Array<Attempt> = []
  let next = 0
  return {
    add: (attempt) => {
      attempts[next] = attempt
      next = (next + 1) % length
    },
    figures: () => figuresOf(attempts)
  }
}

const figuresOf = (attempts: ReadonlyArray<Attempt>): Figures => {
  const latencies = new Float64Array(attempts.length)
  let count = 0
  let retries = 0
  let tokens = 0
  let total = 0
  let from = Infinity
  let to = -Infinity
  for (const { endedAt, isRetry, startedAt, succeeded, tokens: generated } of attempts) {
    if (isRetry) retries++
    from = Math.min(from, startedAt)
    to = Math.max(to, endedAt)
    if (!succeeded) continue
    const latency = (endedAt - startedAt) / 1000
    latencies[count++] = latency
    total += latency
    tokens += generated
  }
  const sorted = latencies.subarray(0, count).sort()
  const mean = count === 0 ? 0 : total / count
  let squares = 0
  for (const latency of sorted) squares += (latency - mean) ** 2
  // Nearest rank: the smallest latency that is not exceeded by at least this share.
  const quantile = (share: number): number => sorted[Math.max(0, Math.ceil(count * share) - 1)] ?? 0
  return {
    count,
    failures: attempts.length - count,
    retries,
    latencyMean: mean,
    latencyStd: count === 0 ? 0 : Math.sqrt(squares / count),
    latencyMax: sorted[count - 1] ?? 0,
    latencyP95: quantile(0.95),
    latencyP99: quantile(0.99),
    tokensPerSecond: to > from ? (tokens * 1000) / (to - from) : 0
  }
}
