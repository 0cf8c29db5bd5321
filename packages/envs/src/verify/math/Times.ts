/** Times of day: "9:05 AM", "9:05 a.m.", `14:05`, "3 p.m.". */

export interface Time {
  readonly hour: number
  readonly minute: number
  readonly second: number
  /** AM or PM, if written. */
  readonly half: "a" | "p" | undefined
  /** True if it is certainly a time: minutes that begin with 0, or AM/PM. `7:32` may be a ratio. */
  readonly isSure: boolean
}

const pattern = /^(\d{1,2})(?:\s?:\s?([0-5]\d)(?:\s?:\s?([0-5]\d))?)?\s*(?:([ap])\s?\.?\s?m\.?)?$/i

/** Parses a normalised text as a time; undefined if it is not a time. */
export const read = (text: string): Time | undefined => {
  const plain = text.replaceAll(/\\text\s?\{([^{}]*)\}/g, "$1").trim()
  const [match, hour = "", minute, second = "0", half] = pattern.exec(plain) ?? []
  if (match === undefined || (minute === undefined && half === undefined)) return undefined
  const most = half === undefined ? 24 : 12
  if (Number(hour) > most || (half !== undefined && Number(hour) === 0)) return undefined
  return {
    hour: Number(hour),
    minute: Number(minute ?? "0"),
    second: Number(second),
    half: half?.toLowerCase() === "a" ? "a" : half === undefined ? undefined : "p",
    isSure: half !== undefined || minute?.startsWith("0") === true
  }
}

const of24 = ({ half, hour }: Time): number => (half === undefined ? hour : (hour % 12) + (half === "p" ? 12 : 0))

/** True if two times are equal; AM/PM may be missing in one, like a unit. */
export const areEqual = (a: Time, b: Time): boolean => {
  if (a.minute !== b.minute || a.second !== b.second) return false
  const isMissing = (a.half === undefined) !== (b.half === undefined)
  return of24(a) === of24(b) || (isMissing && a.hour === b.hour)
}
