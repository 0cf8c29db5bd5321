/** Formats a duration in milliseconds, with tenths below a minute: `4.2 s`, `3 min 12 s`, `2 h 5 min`. */
import * as TimeSpan from "@atropos/core/base/TimeSpan"

export const time = (millis: number): string => {
  const seconds = millis / 1000
  return seconds < 59.95 ? `${seconds.toFixed(1)} s` : TimeSpan.format(seconds)
}
