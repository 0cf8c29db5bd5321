/** Parses a `Retry-After` header. */

/**
 * A daily quota must not exclude a server from a week-long run, and neither must an out-of-range value or a wrong
 * clock.
 */
export const maxMillis = 3_600_000

/** A Retry-After header in milliseconds from now, an hour at most: seconds, or an HTTP date. */
export const millis = (header: string | null | undefined, now: number): number | undefined => {
  if (header === null || header === undefined || header.trim() === "") return undefined
  const seconds = Number(header)
  const wait = Number.isNaN(seconds) ? Date.parse(header) - now : seconds * 1000
  return Number.isNaN(wait) ? undefined : Math.min(maxMillis, Math.max(0, wait))
}
