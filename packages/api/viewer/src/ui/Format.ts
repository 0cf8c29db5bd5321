/** Formats numbers and times. */
import * as TimeSpan from "@atropos/core/base/TimeSpan"

/**
 * At most `digits` significant digits, no trailing zeros: 0.3333, 1, -12.5; very large and small ones in powers of ten.
 */
export const number = (value: number, digits = 4): string => {
  if (!Number.isFinite(value)) return String(value)
  const size = Math.abs(value)
  if (size !== 0 && (size >= 1e7 || size < 1e-4)) return value.toExponential(digits - 2).replace(/(?<!0)\.?0+e/, "e")
  return String(Number(value.toPrecision(size >= 10 ** digits ? Math.ceil(Math.log10(size + 1)) : digits)))
}

/** 12,345 */
export const count = (value: number): string => value.toLocaleString("en-US")

/** `one group`, `3 groups` */
export const plural = (value: number, noun: string, nouns = `${noun}s`): string =>
  `${count(value)} ${value === 1 ? noun : nouns}`

/** `12 s ago`; the date for older times. */
export const ago = (at: number, now: number): string => {
  const seconds = Math.max(0, (now - at) / 1000)
  return seconds < 48 * 3600 ? `${TimeSpan.format(seconds)} ago` : new Date(at).toLocaleDateString("en-CA")
}

/** 2026-11-21 14:03:09, in the reader's time zone. */
export const time = (at: number): string => {
  const date = new Date(at)
  return `${date.toLocaleDateString("en-CA")} ${date.toLocaleTimeString("en-GB")}`
}
