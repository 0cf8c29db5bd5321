/** The value of an earlier render as long as the present one is the same: what depends on it is not made anew. */
import { useState } from "react"

export const useStable = <A>(value: A, isSame: (left: A, right: A) => boolean): A => {
  const [stable, setStable] = useState(value)
  if (stable === value || isSame(stable, value)) return stable
  setStable(value)
  return value
}
