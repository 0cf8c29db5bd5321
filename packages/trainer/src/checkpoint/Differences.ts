/** How two sets of settings differ, as they are written beside checkpoints. */
import * as Predicate from "effect/Predicate"

/**
 * What differs, each by its path and both values: `lr: 0.00001, now null`. What one of them does not have is `absent`.
 */
export const between = (before: unknown, after: unknown, path = ""): ReadonlyArray<string> => {
  if (Predicate.isReadonlyObject(before) && Predicate.isReadonlyObject(after)) {
    const keys = new Set([...Object.keys(before), ...Object.keys(after)])
    return [...keys].flatMap((key) => between(before[key], after[key], path === "" ? key : `${path}.${key}`))
  }
  const [was, is] = [before, after].map((value) => JSON.stringify(value) ?? "absent")
  return was === is ? [] : [`${path}: ${was}, now ${is}`]
}
