/**
 * Checks that work grows at most linearly with its size. Compares two sizes, each by the minimum processor time of
 * several tries: independent of the machine's speed, and other load slows down both.
 */

/** Milliseconds of this thread's processor time for `work`. */
export const millisOf = (work: () => unknown): number => {
  const before = process.threadCpuUsage()
  work()
  const { system, user } = process.threadCpuUsage(before)
  return (system + user) / 1000
}

/** Four times the size takes 4 times as long if it is linear, 16 times if it is quadratic. */
const step = 4
const maxRatio = 8

/** A shorter time is mostly noise; sizes are chosen so large that superlinear work takes far longer. */
const noise = 50

/** Other programs disturb a short measurement, but hardly a long one. */
const triesOf = (millis: number): number => (millis < 10 * noise ? 5 : 2)

/** `make` prepares the work of a size, which is not measured; times below `noiseMillis` count as linear. */
export const isLinear = (size: number, make: (size: number) => () => unknown, noiseMillis = noise): boolean => {
  const large = make(size)
  let most = millisOf(large)
  if (most < noiseMillis) return true
  const small = make(Math.ceil(size / step))
  let least = millisOf(small)
  for (let once = 1; once < triesOf(most) && most >= maxRatio * least; once++) {
    most = Math.min(most, millisOf(large))
    least = Math.min(least, millisOf(small))
  }
  return most < noiseMillis || most < maxRatio * least
}

/** `isLinear` for a text that repeats a part. */
export const isLinearIn = (size: number, part: string, read: (text: string) => unknown): boolean =>
  isLinear(size, (length) => {
    const text = part.repeat(Math.ceil(length / part.length))
    return () => read(text)
  })

/** `isLinear` for asynchronous work; `measure` returns its milliseconds. */
export const isLinearLater = async (
  size: number,
  measure: (size: number) => Promise<number>,
  noiseMillis = noise
): Promise<boolean> => {
  let most = await measure(size)
  if (most < noiseMillis) return true
  let least = await measure(Math.ceil(size / step))
  for (let once = 1; once < triesOf(most) && most >= maxRatio * least; once++) {
    most = Math.min(most, await measure(size))
    least = Math.min(least, await measure(Math.ceil(size / step)))
  }
  return most < noiseMillis || most < maxRatio * least
}

/**
 * The result of a promise, and the longest continuous processor time of this thread in milliseconds until then: of the
 * longest turn of its event loop, or of short ones within a few milliseconds.
 */
export const maxTurnMillis = async <A>(work: () => Promise<A>): Promise<readonly [A, number]> => {
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
