/**
 * Reads and writes metric values as JSON, in files, on the wire and in the store: numbers, and the strings `"NaN"`,
 * `"Infinity"` and `"-Infinity"` for values that JSON cannot represent, as OTLP and Weights & Biases do.
 *
 * `null` is read as NaN: `JSON.stringify` writes it for all three.
 */

export interface Values {
  readonly [name: string]: number
}

export interface LeftOut {
  readonly [name: string]: string
}

/** Longer names are rejected. */
const maxNameLength = 256

const notFinite: ReadonlyMap<unknown, number> = new Map<unknown, number>([
  ["NaN", Number.NaN],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["-Infinity", Number.NEGATIVE_INFINITY],
  [null, Number.NaN]
])

/** The number of a JSON value; undefined if it has none. */
const numberOf = (value: unknown): number | undefined => (typeof value === "number" ? value : notFinite.get(value))

export const encode = (values: Values): { readonly [name: string]: number | string } =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Number.isFinite(value) ? value : `${value}`]))

/** Decodes each value separately: an invalid one is reported and does not affect the others. */
export const decode = (values: {
  readonly [name: string]: unknown
}): { readonly values: Values; readonly leftOut: LeftOut } => {
  const figures: Array<readonly [string, number]> = []
  const leftOut: Array<readonly [string, string]> = []
  for (const [name, value] of Object.entries(values)) {
    const number = numberOf(value)
    if (name.length > maxNameLength)
      leftOut.push([`${name.slice(0, 40)}…`, `a name of more than ${maxNameLength} characters`])
    else if (number === undefined)
      leftOut.push([name, `expected a number, "NaN", "Infinity" or "-Infinity", got ${formatValue(value)}`])
    else figures.push([name, number])
  }
  return { values: Object.fromEntries(figures), leftOut: Object.fromEntries(leftOut) }
}

const formatValue = (value: unknown): string => {
  if (typeof value === "string") return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)
  if (typeof value === "boolean") return `${value}`
  return Array.isArray(value) ? "an array" : "an object"
}
