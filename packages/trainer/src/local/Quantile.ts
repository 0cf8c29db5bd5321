/** Computes a quantile, linearly interpolated between neighbours (PyTorch's default, "linear"). */

/** `share` from 0 (min) to 1 (max); 0 for an empty array. Sorts the array in place. */
export const of = (numbers: Float64Array, share: number): number => {
  if (numbers.length === 0) return 0
  const sorted = numbers.sort()
  const at = share * (sorted.length - 1)
  const below = sorted[Math.floor(at)]!
  const above = sorted[Math.ceil(at)]!
  return below + (above - below) * (at - Math.floor(at))
}
