/**
 * Whether work grows no faster than its size. Two sizes are compared with each other, by the processor time of the
 * least of three tries: no machine is too slow for that, and other programs slow down both.
 */

/** Milliseconds that this thread computes for `work`. */
export const millisOf = (work: () => unknown): number => {
  const before = process.threadCpuUsage()
  work()
  const { system, user } = process.threadCpuUsage(before)
  return (system + user) / 1000
}

/** Four times the size takes 4 times as long if it is linear, 16 times if it is quadratic. */
const step = 4
const maxRatio = 8

/** A shorter time is mostly noise; sizes are chosen so large that what is not linear takes far longer. */
const noiseMillis = 10

const tries = [1, 2, 3]

/** `make` prepares the work of a size, which is then measured without it. */
export const isLinear = (size: number, make: (size: number) => () => unknown): boolean => {
  const large = make(size)
  if (millisOf(large) < noiseMillis) return true
  const least = (work: () => unknown) => Math.min(...tries.map(() => millisOf(work)))
  const millis = least(large)
  return millis < noiseMillis || millis < maxRatio * least(make(Math.ceil(size / step)))
}

/** The same for a text that is a part again and again. */
export const isLinearIn = (size: number, part: string, read: (text: string) => unknown): boolean =>
  isLinear(size, (length) => {
    const text = part.repeat(Math.ceil(length / part.length))
    return () => read(text)
  })

/** The same for work that is not done in one turn, of which `measure` gives the milliseconds. */
export const isLinearLater = async (size: number, measure: (size: number) => Promise<number>): Promise<boolean> => {
  const least = async (size: number) => {
    let millis = Infinity
    for (const _ of tries) millis = Math.min(millis, await measure(size))
    return millis
  }
  const millis = await least(size)
  return millis < noiseMillis || millis < maxRatio * (await least(Math.ceil(size / step)))
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
