/**
 * Finds the earlier blocks of a reply that its program relies on: those that only import or define, and define a name
 * that the program uses without defining it.
 */

const defined = /^(?:(?:async[ \t]+)?def|class)[ \t]+(\w+)|^(\w+)[ \t]*(?::[^=\n]*)?=(?!=)/gm
const imported = /^(?:import[ \t]+|from[ \t]+[\w.]+[ \t]+import[ \t]+)(?:\(([^()]*)\)|([^\n#(]*))/gm

/** `a.b as c, d` binds c and d, `a.b` binds a. */
const boundBy = (list: string): ReadonlyArray<string> =>
  list.split(",").flatMap((one) => /\bas\s+(\w+)\s*$/.exec(one)?.[1] ?? /\w+/.exec(one)?.[0] ?? [])

const definedIn = (code: string): ReadonlySet<string> =>
  new Set([
    ...Array.from(code.matchAll(defined), ([, name, assigned]) => name ?? assigned!),
    ...Array.from(code.matchAll(imported), ([, bracketed, listed]) => boundBy(bracketed ?? listed ?? "")).flat()
  ])

/** True if every line that is not indented imports, defines or is a comment. */
const onlyDefines = (code: string): boolean =>
  code
    .split("\n")
    .every((line) =>
      /^(?:[ \t]|#|@|\)|$|(?:async[ \t]+)?def[ \t]|class[ \t]|import[ \t]|from[ \t])/.test(line.trimEnd())
    )

/** The program after those of the earlier blocks, in order. */
export const withHelpers = (program: string, earlier: ReadonlyArray<string>): string => {
  const parts = [program]
  for (const code of earlier.filter(onlyDefines).toReversed()) {
    const own = new Set(parts.flatMap((part) => [...definedIn(part)]))
    const words = new Set(parts.flatMap((part) => part.match(/\w+/g) ?? []))
    if ([...definedIn(code)].some((name) => words.has(name) && !own.has(name))) parts.unshift(code)
  }
  return parts.join("\n\n")
}
