/** Returns the previous value while it equals the current one, so that dependents are not recomputed. */
import { useState } from "react"

export const useStable = <A>(value: A, isSame: (left: A, right: A) => boolean): A => {
  const [stable, setStable] = useState(value)
  if (stable === value || isSame(stable, value)) return stable
  setStable(value)
  return value
}
