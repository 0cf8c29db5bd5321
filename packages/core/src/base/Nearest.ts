/** "Did you mean": the nearest of some names, by edit distance and by common endings. */

/** Edits (insert, delete, replace, swap neighbours) from `a` to `b`. */
export const editDistance = (a: string, b: string): number => {
  let before: Array<number> = []
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1]
      let best = Math.min(previous[column]! + 1, current[column - 1]! + 1, previous[column - 1]! + (same ? 0 : 1))
      const isSwap = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      if (isSwap) best = Math.min(best, before[column - 2]! + 1)
      current.push(best)
    }
    before = previous
    previous = current
  }
  return previous[b.length]!
}

/** Normalizes `env.group-size` and `groupSize` to `group_size` for comparison. */
const plain = (name: string): string =>
  name
    .replaceAll("-", "_")
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()

const lastPart = (name: string): string => name.slice(name.lastIndexOf(".") + 1)

/**
 * The most likely intended name, if one is near: up to a third of its letters may be wrong, or its part before the dot
 * missing.
 */
export const nearest = (input: string, candidates: Iterable<string>): string | undefined => {
  const word = plain(input)
  let best: { readonly name: string; readonly distance: number } | undefined
  for (const name of candidates) {
    const candidate = plain(name)
    const distance = Math.min(editDistance(word, candidate), 0.5 + editDistance(lastPart(word), lastPart(candidate)))
    const allowed = Math.max(1.5, Math.min(word.length, candidate.length) / 3)
    if (distance <= allowed && (best === undefined || distance < best.distance)) best = { name, distance }
  }
  return best?.name
}

/** `; did you mean "x"?`, or empty. */
export const hint = (input: string, candidates: Iterable<string>): string => {
  const name = nearest(input, candidates)
  return name === undefined ? "" : `; did you mean "${name}"?`
}
