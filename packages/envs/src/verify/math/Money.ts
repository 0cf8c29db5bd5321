/**
 * Writes amounts as plain numbers: "Rs. 1,450/-", "125 dollars and 50 cents", `\$3M`, "$2.5 bn". A letter for a
 * magnitude counts only behind a currency sign: 3M may be a product. Linear in the text.
 */

const start = String.raw`^([\s$]{0,3}-?)`
const gap = String.raw`(?:\s|~|\\[,;: ]){0,4}`
const word = (names: string): string => String.raw`${gap}(?:\\text\s?\{\s{0,3})?(?:${names})(?![a-zA-Z])`
const parts = new RegExp(
  String.raw`${start}\\?\$?(\d[\d,]{0,20})${word("dollars?|euros?|pounds?")},?(?:${gap}\})?${gap}(?:\\text\s?\{\s{0,3})?(?:and${gap}\}?${gap})?(\d{1,2})${word("cents?|pence|pennies")}\s{0,3}\}?[\s$]{0,3}\.?$`,
  "i"
)
const magnitude =
  /^(\s{0,3}-?(?:\\\$|[€£₹]|\$(?=[^$]*$))\s?\d[\d,]{0,20}(?:\.\d{1,10})?)\s?(M|m|mn|B|b|bn|K|k)\s{0,3}\.?$/
const ending = /^([^/]{0,40}\d)\s?\/-(?=\s{0,3}\.?$)/
const magnitudes: { readonly [letter: string]: string } = { m: "million", b: "billion", k: "thousand" }

const inText = /^([\s$]{0,3})\\(?:text|mathrm)\s?\{\s{0,3}((?:Rs|INR|CHF|USD|EUR)\.?)\s{0,3}\}\s{0,3}(?=\d)/

/** Max characters of an amount. */
const maxLength = 100

export const plain = (answer: string): string =>
  answer.length > maxLength
    ? answer
    : answer
        .replace(ending, "$1")
        .replace(inText, "$1$2 ")
        .replace(
          parts,
          (_, before: string, whole: string, rest: string) => `${before}\\$${whole}.${rest.padStart(2, "0")}`
        )
        .replace(
          magnitude,
          (_, amount: string, letter: string) => `${amount}\\text{ ${magnitudes[letter.charAt(0).toLowerCase()]}}`
        )
