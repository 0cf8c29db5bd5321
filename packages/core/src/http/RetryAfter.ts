/** How long the other side wants to be left alone, as its `Retry-After` says. */

/**
 * A day's quota is no reason to leave a server out of a run that lasts a week; a figure out of range, or a wrong clock,
 * still less.
 */
export const longestMillis = 3_600_000

/** A Retry-After header in milliseconds from now, an hour at most: seconds, or an HTTP date. */
export const millis = (header: string | null | undefined, now: number): number | undefined => {
  if (header === null || header === undefined || header.trim() === "") return undefined
  const seconds = Number(header)
  const wait = Number.isNaN(seconds) ? Date.parse(header) - now : seconds * 1000
  return Number.isNaN(wait) ? undefined : Math.min(longestMillis, Math.max(0, wait))
}
