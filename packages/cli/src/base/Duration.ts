/** Formats a duration in milliseconds: `4.2 s`, `3 min 12 s`, `2 h 5 min`. */
export const time = (millis: number): string => {
  const seconds = millis / 1000
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`
  // Rounded first, so that 119.7 s becomes 2 min 0 s.
  const whole = Math.round(seconds)
  const minutes = Math.floor(whole / 60)
  return minutes < 60 ? `${minutes} min ${whole % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
