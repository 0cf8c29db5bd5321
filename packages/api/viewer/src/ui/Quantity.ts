/** Formats values with units for charts and tables. */
import * as TimeSpan from "@atropos/core/base/TimeSpan"
import * as Format from "./Format.ts"

/** Format of values: shares as percent, rates and durations with their unit. */
export type Unit = "number" | "share" | "seconds" | "perSecond" | "nats" | "tokens" | "bytes"

/** `0.1234` as `12.3%`, `0.035` seconds as `35 ms`. */
export const quantity = (value: number, unit: Unit): string => {
  switch (unit) {
    case "share":
      return `${Format.number(value * 100, 3)}%`
    case "seconds":
      return duration(value)
    case "perSecond":
      return `${compact(value)}/s`
    case "bytes":
      return `${compact(value).replace(/[kMG]?$/, " $&")}B`
    case "tokens":
      return compact(value)
    default:
      return Format.number(value)
  }
}

/** At most four digits: `12,345` as `12.3k`. */
export const compact = (value: number): string => {
  const size = Math.abs(value)
  if (size >= 1e9) return `${Format.number(value / 1e9, 3)}G`
  if (size >= 1e6) return `${Format.number(value / 1e6, 3)}M`
  if (size >= 1e4) return `${Format.number(value / 1e3, 3)}k`
  return Format.number(value, 4)
}

/** `0.035` as `35 ms`, `75` as `1 min 15 s`, `7260` as `2 h 1 min`. */
export const duration = (seconds: number): string => {
  const size = Math.abs(seconds)
  if (size === 0) return "0 s"
  if (size < 1e-3) return `${Format.number(seconds * 1e6, 3)} µs`
  if (size < 1) return `${Format.number(seconds * 1e3, 3)} ms`
  if (size < 59.95) return `${Format.number(seconds, 3)} s`
  return `${seconds < 0 ? "-" : ""}${TimeSpan.format(size)}`
}

/** Two digits: `+0.12`, `−0.0034`, `±0` */
export const change = (value: number): string =>
  value === 0 ? "±0" : `${value > 0 ? "+" : "−"}${Format.number(Math.abs(value), 2)}`
