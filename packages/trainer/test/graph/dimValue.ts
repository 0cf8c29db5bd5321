import { type Dim, dimSymbols, dimTerms } from "../../src/graph/Dim.ts"

/** The size's value where the symbols have these values; undefined if one has none. */
export const dimValue = (dim: Dim, symbols: Readonly<Record<string, number>>): number | undefined => {
  if (typeof dim === "number") return dim
  if (dimSymbols(dim).some((symbol) => symbols[symbol] === undefined)) return undefined
  const { over, terms } = dimTerms(dim)
  return terms.reduce((sum, term) => sum + term.symbols.reduce((n, s) => n * (symbols[s] ?? 0), term.count), 0) / over
}
