/**
 * Reads the letter of a line `ANSWER: B`, as inspect_ai does (`parse_answers` of its `multiple_choice`, MIT): the last
 * line with nothing else, or else the last `ANSWER: …` anywhere. Markup around it is ignored, and only a single valid
 * letter counts.
 */

/** Marks around letters, digits, spaces and commas. */
const marked = [/\$([A-Za-z\d\s,]{1,120})\$/g, /\*\*([A-Za-z\d\s,]{1,120})\*\*/g]
const inside = /^[A-Za-z\d][A-Za-z\d ,]*$/
const bracketed = /(^|[:,])(\s{0,20})\(([A-Za-z\d])\)(?=\s{0,20}(?:,|\.|\n|$))/g

const unmarked = (text: string): string =>
  marked
    .reduce(
      (written, pattern) =>
        written.replaceAll(pattern, (whole, words: string) => (inside.test(words.trim()) ? words.trim() : whole)),
      text
    )
    .replaceAll(bracketed, "$1$2$3")

const onLine = /^ANSWER\s{0,20}:\s{0,20}([A-Za-z\d ,]{1,200}?)[^\S\n]{0,20}(?:\n|\.|$)/gim
const anywhere = /ANSWER\s{0,20}:\s{0,20}([A-Za-z\d ,]{1,200})(?:[^\w]|$)/gi

export const read = (text: string, letters: ReadonlyArray<string>): string | undefined => {
  const plain = unmarked(text)
  const strict = Array.from(plain.matchAll(onLine))
  const found = (strict.length > 0 ? strict : Array.from(plain.matchAll(anywhere))).at(-1)?.[1]
  const tokens = (found ?? "")
    .trim()
    .toUpperCase()
    .split(",")
    .filter((token) => token !== "")
  const [only, ...more] = tokens
  return only !== undefined && more.length === 0 && letters.includes(only) ? only : undefined
}
