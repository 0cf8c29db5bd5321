/**
 * Converts Unicode's minus and plus signs, and the digits of other scripts, to ASCII wherever a number is read.
 *
 * A minus sign counts in any position. A hyphen or dash counts only if a number, a bracket or a command follows
 * immediately and no word, number or closing bracket precedes immediately: `3–5` stays a range, `total — done` a
 * remark.
 */

/** Minus signs, including emoji and full-width ones. */
const minus = /[\u2212\u02d7\u2796\ufe63\uff0d]/g
const plus = /[\uff0b\ufe62\u2795]/g
/** Unicode's other hyphens and dashes (`Pd`), except wave dashes, which are ranges; raised and lowered minus signs. */
const dash =
  /(?<![\p{L}\p{N})\]}%])[\u058a\u05be\u1400\u1806\u2010-\u2015\u207b\u208b\u2e17\u2e1a\u2e3a\u2e3b\u2e40\u2e5d\ufe31\ufe32\ufe58](?=[\d.$€£\\({])/gu

/** The zeros of other scripts' digits (Arabic, Persian, those of India, Thai, …), full-width and mathematical ones. */
const zeros = [
  0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xe50, 0xed0, 0xf20, 0x1040,
  0x17e0, 0x1810, 0xff10, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6
]
const digit = new RegExp(
  `[${zeros.map((zero) => `${String.fromCodePoint(zero)}-${String.fromCodePoint(zero + 9)}`).join("")}]`,
  "gu"
)
const asciiDigit = (one: string): string => {
  const code = one.codePointAt(0) ?? 0
  return String(code - (zeros.findLast((zero) => zero <= code) ?? code))
}
const point = /(?<=\d)[\uff0e\u066b](?=\d)/g
const separator = /(?<=\d)[\uff0c\u066c](?=\d{3})/g

const dollars = /(?<![a-zA-Z])(?:US|CA|AU|NZ|HK|SG|NT)(?=\\?\$\s?\d)/g

/** The text with ASCII signs `-` and `+`, and digits `0` to `9`; `US$5` as `$5`. */
export const ascii = (text: string): string =>
  text
    .replaceAll(digit, asciiDigit)
    .replaceAll(point, ".")
    .replaceAll(separator, ",")
    .replaceAll(minus, "-")
    .replaceAll(plus, "+")
    .replaceAll(dash, "-")
    .replaceAll(dollars, "")
