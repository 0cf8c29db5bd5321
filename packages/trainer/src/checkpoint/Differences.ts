/** Compares two sets of settings in the form written to checkpoints. */
import * as Predicate from "effect/Predicate"

/** The differences, each with its path and both values: `lr: 0.00001, now null`. A missing value is `absent`. */
export const between = (before: unknown, after: unknown, path = ""): ReadonlyArray<string> => {
  if (Predicate.isReadonlyObject(before) && Predicate.isReadonlyObject(after)) {
    const keys = new Set([...Object.keys(before), ...Object.keys(after)])
    return [...keys].flatMap((key) => between(before[key], after[key], path === "" ? key : `${path}.${key}`))
  }
  const [was, is] = [before, after].map((value) => JSON.stringify(value) ?? "absent")
  return was === is ? [] : [`${path}: ${was}, now ${is}`]
}
