/**
 * Memoizes the last result of a function per first argument: it is reused while the other arguments are equal. Entries
 * are garbage-collected with their object.
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
