/**
 * A function that remembers, for each object it was called with, its last result: while the object and the other
 * arguments are the same, so is the result. What is not used any more is forgotten with the object.
 */
export const remembered = <Of extends object, Rest extends ReadonlyArray<unknown>, Result>(
  make: (of: Of, ...rest: Rest) => Result
): ((of: Of, ...rest: Rest) => Result) => {
  const results = new WeakMap<Of, { readonly rest: Rest; readonly result: Result }>()
  return (of, ...rest) => {
    const cached = results.get(of)
    if (cached !== undefined && cached.rest.every((value, index) => value === rest[index])) return cached.result
    const result = make(of, ...rest)
    results.set(of, { rest, result })
    return result
  }
}
