/** Compares integers by their digits: exact at any length, in linear time. */

const integer = /^\s*([-+]?)0*(\d+)\s*$/

/** Whether two integers are equal; undefined where one of the texts is none. */
export const areEqual = (a: string, b: string): boolean | undefined => {
  const [x, y] = [integer.exec(a), integer.exec(b)]
  if (x === null || y === null) return undefined
  return x[2] === y[2] && ((x[1] === "-") === (y[1] === "-") || x[2] === "0")
}
