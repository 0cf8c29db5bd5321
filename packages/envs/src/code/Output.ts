/**
 * Compares a program's output with the expected one, as LiveCodeBench does (Jain et al. 2024,
 * https://arxiv.org/abs/2403.07974): line by line, trimmed, equal as texts, or number for number as decimals (`1.50` is
 * `1.5`, without any tolerance).
 */

/** A decimal number, with or without an exponent. */
const decimal = /^([-+]?)(\d+(?:_\d+)*)?(?:\.(\d+(?:_\d+)*)?)?(?:[eE]([-+]?\d{1,9}))?$/

/** A normal form of a number; undefined if it is not one. */
const normal = (token: string): string | undefined => {
  const endless = /^([-+]?)inf(?:inity)?$/i.exec(token)
  if (endless !== null) return endless[1] === "-" ? "-inf" : "inf"
  const found = decimal.exec(token)
  if (found === null) return undefined
  const [, sign = "", whole = "", part = "", exponent = "0"] = found.map((one) => one?.replaceAll("_", ""))
  if (whole === "" && part === "") return undefined
  const digits = `${whole}${part}`.replace(/^0+/, "")
  if (digits === "") return "0"
  const significant = withoutEndingZeros(digits)
  const scale = Number(exponent) - part.length + digits.length - significant.length
  return `${sign === "-" ? "-" : ""}${significant}e${scale}`
}

const withoutEndingZeros = (digits: string): string => {
  let to = digits.length
  while (digits[to - 1] === "0") to--
  return digits.slice(0, to)
}

/** Python's white space: without the byte order mark, but with ASCII's separators and next line. */
const isBlank = (unit: string | undefined): boolean =>
  unit !== undefined &&
  (unit === "\u0085" || (unit >= "\u001c" && unit <= "\u001f") || (unit !== "\ufeff" && unit.trim() === ""))

const stripped = (text: string): string => {
  let from = 0
  let to = text.length
  while (from < to && isBlank(text[from])) from++
  while (to > from && isBlank(text[to - 1])) to--
  return text.slice(from, to)
}

const linesOf = (text: string): ReadonlyArray<string> => stripped(text).split("\n").map(stripped)

const numbers = (line: string): ReadonlyArray<string | undefined> => {
  const words: Array<string> = []
  let from = 0
  for (let at = 0; at <= line.length; at++) {
    if (at < line.length && !isBlank(line[at])) continue
    if (at > from) words.push(line.slice(from, at))
    from = at + 1
  }
  return words.map(normal)
}

const areSameLine = (expected: string, printed: string): boolean => {
  if (expected === printed) return true
  const [target, input] = [numbers(expected), numbers(printed)]
  return target.length === input.length && target.every((one, at) => one !== undefined && one === input[at])
}

export const isRight = (expected: string, printed: string): boolean => {
  const [target, input] = [linesOf(expected), linesOf(printed)]
  return target.length === input.length && target.every((line, at) => areSameLine(line, input[at]!))
}
