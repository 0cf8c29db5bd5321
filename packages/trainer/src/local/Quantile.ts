/** A quantile of numbers, between its two neighbours by where it falls (PyTorch's default, "linear"). */

/** `share` from 0, the least, to 1, the greatest; 0 of no numbers. Sorts the numbers. */
export const of = (numbers: Float64Array, share: number): number => {
  if (numbers.length === 0) return 0
  const sorted = numbers.sort()
  const at = share * (sorted.length - 1)
  const below = sorted[Math.floor(at)]!
  const above = sorted[Math.ceil(at)]!
  return below + (above - below) * (at - Math.floor(at))
}
