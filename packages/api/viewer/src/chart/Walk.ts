/** Moves the crosshair by keyboard between the values of a curve. Pure. */
import * as Line from "./Line.ts"

const moves: { readonly [key: string]: number } = {
  ArrowRight: 1,
  ArrowLeft: -1,
  PageUp: 10,
  PageDown: -10,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY
}

/** The target of a key from `x`, or from outside (null); undefined for other keys and without values. */
export const to = (key: string, xs: Float64Array, x: number | null): number | undefined => {
  const by = moves[key]
  if (by === undefined || xs.length === 0) return undefined
  const outside = by > 0 ? -1 : xs.length
  const at = x === null ? outside : Line.nearest({ xs, ys: xs }, x)!
  return xs[Math.min(xs.length - 1, Math.max(0, at + by))]
}
