/**
 * Converts Unicode's minus and plus signs, and full-width digits, to ASCII wherever a number is read.
 *
 * A minus sign counts in any position. A hyphen or dash counts only if a number, a bracket or a command follows
 * immediately and no word, number or closing bracket precedes immediately: `3–5` stays a range, `total — done` a
 * remark.
 */

/** Minus signs, including emoji and full-width ones. */
const minus = /[\u2212\u02d7\u2796\ufe63\uff0d]/g
const plus = /[\uff0b\ufe62\u2795]/g
/** Unicode's other hyphens and dashes (`Pd`), except wave dashes, which are ranges. */
const dash =
  /(?<![\p{L}\p{N})\]}%])[\u058a\u05be\u1400\u1806\u2010-\u2015\u2e17\u2e1a\u2e3a\u2e3b\u2e40\u2e5d\ufe31\ufe32\ufe58](?=[\d.$€£\\({])/gu

/** Full-width digits, with their point and separators. */
const digit = /[\uff10-\uff19]/g
const point = /(?<=\d)\uff0e(?=\d)/g
const separator = /(?<=\d)\uff0c(?=\d{3})/g

/** The text with ASCII signs `-` and `+`, and digits `0` to `9`. */
export const ascii = (text: string): string =>
  text
    .replaceAll(digit, (one) => one.normalize("NFKC"))
    .replaceAll(point, ".")
    .replaceAll(separator, ",")
    .replaceAll(minus, "-")
    .replaceAll(plus, "+")
    .replaceAll(dash, "-")
