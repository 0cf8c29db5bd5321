/** Processor time in place of the clock's: what else the machine does at the moment does not count. */

/** Milliseconds that this thread computes for `work`. */
export const millisOf = (work: () => unknown): number => {
  const before = process.threadCpuUsage()
  work()
  const { system, user } = process.threadCpuUsage(before)
  return (system + user) / 1000
}

/** Milliseconds that this process has computed since an earlier `process.cpuUsage()`, in all its threads. */
export const millisSince = (before: NodeJS.CpuUsage): number => {
  const { system, user } = process.cpuUsage(before)
  return (system + user) / 1000
}
