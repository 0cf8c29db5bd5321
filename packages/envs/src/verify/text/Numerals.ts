/**
 * Reads numerals as people of different countries group them, as plain decimals: `1,00,000` is 100000, `1.234,56` is
 * 1234.56, `1'000` and `1 000` are 1000. A numeral with two meanings is kept as it is: `1.000` is one, `12,5` a list.
 */

/** Spaces between groups: plain, no-break, thin, narrow no-break. */
const space = "[ \\u00a0\\u2009\\u202f]"
const group = (separator: string): string => `\\d{1,3}(?:${separator}\\d{3})+`

/** Separators to remove, and true if the comma is a decimal one. */
const conventions: ReadonlyArray<readonly [numeral: RegExp, isContinental: boolean]> = [
  [new RegExp(`^${group(",")}(?:\\.\\d+)?$`), false],
  // India: hundreds, then twos.
  [/^\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?$/, false],
  [new RegExp(`^${group("['’]")}(?:\\.\\d+)?$`), false],
  [new RegExp(`^${group("_")}$`), false],
  [new RegExp(`^${group(space)}(?:\\.\\d+)?$`), false],
  [new RegExp(`^${group(space)},\\d{1,2}$`), true],
  [new RegExp(`^${group("\\.")},\\d+$`), true],
  [/^\d{1,3}(?:\.\d{3}){2,}$/, true]
]

const separators = new RegExp(`[,'’_]|${space}`, "g")

/** The numeral without separators and with a decimal point; undefined if it follows no convention. */
export const plain = (numeral: string): string | undefined => {
  if (/^(?:\d+(?:\.\d*)?|\.\d+)$/.test(numeral)) return numeral
  const isContinental = conventions.find(([pattern]) => pattern.test(numeral))?.[1]
  if (isContinental === undefined) return undefined
  const ascii = isContinental ? numeral.replaceAll(".", "").replace(",", ".") : numeral
  return ascii.replaceAll(separators, "")
}

/** Digits with anything that may separate groups or decimals: one numeral, or several that are glued together. */
export const pattern = `(?:\\d+(?:[.,'’_]\\d+|(?<!\\d{4})${space}\\d{3}(?!\\d))*|\\.\\d+)`
