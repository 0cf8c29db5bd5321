/** Processor time in place of the clock's: what else the machine does at the moment does not count. */

/** Milliseconds that this thread computes for `work`. */
export const millisOf = (work: () => unknown): number => {
  const before = process.threadCpuUsage()
  work()
  const { system, user } = process.threadCpuUsage(before)
  return (system + user) / 1000
}

/**
 * What a promise gives, and the milliseconds that this thread computed at a stretch until then: of the longest turn of
 * its event loop, or of short ones within a few milliseconds.
 */
export const longestTurn = async <A>(work: () => Promise<A>): Promise<readonly [A, number]> => {
  let longest = 0
  let before = process.threadCpuUsage()
  const look = () => {
    const now = process.threadCpuUsage()
    longest = Math.max(longest, (now.user + now.system - before.user - before.system) / 1000)
    before = now
  }
  const looking = setInterval(look, 2)
  try {
    const given = await work()
    look()
    return [given, longest]
  } finally {
    clearInterval(looking)
  }
}

/** Milliseconds that this process has computed since an earlier `process.cpuUsage()`, in all its threads. */
export const millisSince = (before: NodeJS.CpuUsage): number => {
  const { system, user } = process.cpuUsage(before)
  return (system + user) / 1000
}
