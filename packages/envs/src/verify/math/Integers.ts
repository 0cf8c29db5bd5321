/** Compares integers by their digits: exact at any length, in linear time. */

const integer = /^\s*([-+]?)(\d+)\s*$/

const withoutZeros = (digits = ""): string => digits.replace(/^0+(?=\d)/, "")

/** True if two integers are equal; undefined if either text is not an integer. */
export const areEqual = (a: string, b: string): boolean | undefined => {
  const [x, y] = [integer.exec(a), integer.exec(b)]
  if (x === null || y === null) return undefined
  const [digits, others] = [withoutZeros(x[2]), withoutZeros(y[2])]
  return digits === others && ((x[1] === "-") === (y[1] === "-") || digits === "0")
}
