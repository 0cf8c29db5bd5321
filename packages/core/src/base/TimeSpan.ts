/** Formats a length of time in its two largest units, rounded to the smaller one. */

const inTwo = (count: number, size: number, large: string, small: string): string => {
  const rest = count % size
  return `${Math.floor(count / size)} ${large}${rest === 0 ? "" : ` ${rest} ${small}`}`
}

const hour = 3600
const twoDays = 48 * hour

/** Whole seconds as `40 s`, `1 min 40 s`, `2 h 5 min`, `3 days 4 h`; a unit that is zero is omitted. */
export const format = (seconds: number): string => {
  // Rounded first, so that 119.7 s becomes 2 min.
  const whole = Math.round(seconds)
  if (whole < 60) return `${whole} s`
  if (whole < hour) return inTwo(whole, 60, "min", "s")
  if (whole < twoDays) return inTwo(Math.round(whole / 60), 60, "h", "min")
  return inTwo(Math.round(whole / hour), 24, "days", "h")
}
