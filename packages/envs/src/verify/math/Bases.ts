/** Writes the bases of numbers as subscripts. Linear in the text. */
const bases = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
const baseWord = new RegExp(
  `_\\s{0,3}(?:\\{\\s{0,3})?\\\\text\\s?\\{\\s{0,3}(${bases.join("|")})\\s{0,3}\\}(?:\\s{0,3}\\})?`,
  "i"
)
const baseBehind = new RegExp(
  `(?<=^[\\da-fA-F]{1,200})\\s{0,3}(?:\\\\text\\s?\\{\\s{0,3})?\\(?(?:in\\s)?base[\\s-]?\\}?\\s?(\\d{1,2}|${bases.join("|")})\\s?\\)?\\s{0,3}\\}?$`,
  "i"
)
const numberOf = (name: string): string => (/\d/.test(name) ? name : String(bases.indexOf(name.toLowerCase()) + 2))

/** `11_{\text{two}}`, "11 (base 2)" and "11 in base two" are `11_{2}`. */
export const withBase = (text: string): string =>
  text
    .trim()
    .replace(baseWord, (_, name: string) => `_{${numberOf(name)}}`)
    .replace(baseBehind, (_, name: string) => `_{${numberOf(name)}}`)
