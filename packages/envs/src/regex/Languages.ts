/**
 * Languages for regular-expression tasks: a description, sample texts, and an expression for it. Texts outside of a
 * language are made from its own by small changes.
 */
import type { SeededRandom } from "@atropos/core"

type Random = SeededRandom.SeededRandom

export interface Language {
  /** Completes the phrase "a text that …". */
  readonly description: string
  readonly pattern: string
  readonly draw: (random: Random) => string
}

const lower = "abcdefghijklmnopqrstuvwxyz"
const digits = "0123456789"

const some = (random: Random, alphabet: string, fewest: number, max: number): string =>
  Array.from({ length: random.between(fewest, max) }, () => alphabet[random.between(0, alphabet.length - 1)]!).join("")

const upper = (text: string): string => text.toUpperCase()
const padded = (value: number, width: number): string => String(value).padStart(width, "0")
const list = (random: Random, fewest: number, max: number, one: () => string): ReadonlyArray<string> =>
  Array.from({ length: random.between(fewest, max) }, one)

/** Languages with random parameters, so that there are many. */
const made: ReadonlyArray<(random: Random) => Language> = [
  (random) => {
    const count = random.between(2, 8)
    return {
      description: `consists of exactly ${count} digits`,
      pattern: `[0-9]{${count}}`,
      draw: (own) => some(own, digits, count, count)
    }
  },
  (random) => {
    const [min, more] = [random.between(2, 4), random.between(1, 5)]
    return {
      description: `consists of ${min} to ${min + more} lower-case letters a to z`,
      pattern: `[a-z]{${min},${min + more}}`,
      draw: (own) => some(own, lower, min, min + more)
    }
  },
  (random) => {
    const [letters, count] = [random.between(2, 3), random.between(2, 5)]
    return {
      description: `is a product code: ${letters} capital letters A to Z, a hyphen and ${count} digits`,
      pattern: `[A-Z]{${letters}}-[0-9]{${count}}`,
      draw: (own) => `${upper(some(own, lower, letters, letters))}-${some(own, digits, count, count)}`
    }
  },
  (random) => {
    const letter = random.pick(Array.from("abcde"))
    return {
      description: `consists of the letters a to e, one or more, and begins and ends with ${letter}`,
      pattern: `${letter}(?:[a-e]*${letter})?`,
      draw: (own) => (own.chance(0.1) ? letter : `${letter}${some(own, "abcde", 0, 6)}${letter}`)
    }
  },
  (random) => {
    const letter = random.pick(Array.from("abc"))
    return {
      description: `consists of the letters a, b and c, one or more, and has an even number of ${letter} (none is even)`,
      pattern: ((others: string) => `(?=.)(?:[${others}]*${letter}[${others}]*${letter})*[${others}]*`)(
        "abc".replace(letter, "")
      ),
      draw: (own) => {
        const text = some(own, "abc", 1, 8)
        return (text.split(letter).length - 1) % 2 === 0 ? text : text + letter
      }
    }
  },
  (random) => {
    const [first, second] = random.sample(Array.from("xyz"), 2)
    return {
      description: `is ${first} and ${second} in turn, beginning with ${first}, one letter or more`,
      pattern: `(?:${first}${second})+${first}?|${first}`,
      draw: (own) => `${first!}${second!}`.repeat(5).slice(0, own.between(1, 9))
    }
  },
  (random) => {
    const sign = random.pick([",", ";", ":"])
    return {
      description: `is a list of whole numbers without leading zeros, separated by "${sign}" without blanks`,
      pattern: `(?:0|[1-9][0-9]*)(?:${sign}(?:0|[1-9][0-9]*))*`,
      draw: (own) => list(own, 1, 4, () => String(own.between(0, 999))).join(sign)
    }
  },
  (random) => {
    const ending = random.pick(["txt", "csv", "log", "json"])
    return {
      description: `is a file name of lower-case letters, digits and underscores that ends with ".${ending}" and begins with a letter`,
      pattern: String.raw`[a-z][a-z0-9_]*\.${ending}`,
      draw: (own) => `${some(own, lower, 1, 1)}${some(own, `${lower}${digits}_`, 0, 7)}.${ending}`
    }
  },
  () => ({
    description: "is a date written YYYY-MM-DD, with months from 01 to 12 and days from 01 to 31",
    pattern: "[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])",
    draw: (own) =>
      `${padded(own.between(0, 9999), 4)}-${padded(own.between(1, 12), 2)}-${padded(own.between(1, 31), 2)}`
  }),
  () => ({
    description: "is a time of day from 00:00 to 23:59, written HH:MM",
    pattern: "(?:[01][0-9]|2[0-3]):[0-5][0-9]",
    draw: (own) => `${padded(own.between(0, 23), 2)}:${padded(own.between(0, 59), 2)}`
  }),
  () => ({
    description: "is an IPv4 address: four numbers from 0 to 255 without leading zeros, separated by dots",
    pattern: String.raw`(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\.){3}(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])`,
    draw: (own) => Array.from({ length: 4 }, () => String(own.between(0, 255))).join(".")
  }),
  () => ({
    description: `is a colour: "#" and three or six hexadecimal digits, letters in lower case`,
    pattern: "#(?:[0-9a-f]{3}|[0-9a-f]{6})",
    draw: (own) => `#${own.chance(0.5) ? some(own, `${digits}abcdef`, 3, 3) : some(own, `${digits}abcdef`, 6, 6)}`
  }),
  () => ({
    description:
      "is a decimal number: an optional minus sign, a whole part without leading zeros, and optionally a point with one or more digits behind it",
    pattern: String.raw`-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?`,
    draw: (own) =>
      `${own.chance(0.4) ? "-" : ""}${own.between(0, 2000)}${own.chance(0.5) ? `.${some(own, digits, 1, 4)}` : ""}`
  }),
  () => ({
    description:
      "is a variable name in snake_case: words of lower-case letters, one or more, separated by single underscores",
    pattern: "[a-z]+(?:_[a-z]+)*",
    draw: (own) => list(own, 1, 3, () => some(own, lower, 1, 5)).join("_")
  }),
  () => ({
    description: "is a name in CamelCase: one or more words, each a capital letter with one or more lower-case letters",
    pattern: "(?:[A-Z][a-z]+)+",
    draw: (own) => list(own, 1, 3, () => upper(some(own, lower, 1, 1)) + some(own, lower, 1, 4)).join("")
  }),
  () => ({
    description: "is a text in double quotes in which there are only lower-case letters and blanks, or nothing",
    pattern: '"[a-z ]*"',
    draw: (own) => `"${some(own, `${lower} `, 0, 9)}"`
  })
]

export const draw = (random: Random): Language => random.pick(made)(random)

/** A text with a small change: a character inserted, removed, replaced, doubled or in another case, or two swapped. */
const changed = (text: string, random: Random): string => {
  const characters = Array.from(text)
  const other = random.pick(Array.from(`${lower}${digits}-_.:, A`))
  if (characters.length === 0) return other
  const at = random.between(0, characters.length - 1)
  switch (random.between(0, 6)) {
    case 0:
      return characters.toSpliced(at, 1).join("")
    case 1:
      return characters.toSpliced(at, 0, other).join("")
    case 2:
      return characters.with(at, other).join("")
    case 3:
      return characters.toSpliced(at, 0, characters[at]!).join("")
    case 4:
      return random.chance(0.5) ? upper(text) : text.toLowerCase()
    case 5:
      return text + other
    default:
      return [...characters.slice(at), ...characters.slice(0, at)].join("")
  }
}

/** Texts of a language and similar texts outside of it, all distinct; fewer than `count` if not enough are found. */
export const texts = (
  { draw: one, pattern }: Language,
  random: Random,
  count: number
): { readonly accepted: ReadonlyArray<string>; readonly rejected: ReadonlyArray<string> } => {
  const whole = new RegExp(`^(?:${pattern})$`, "u")
  const accepted = new Set<string>()
  const rejected = new Set<string>()
  for (let tries = 0; tries < 40 * count && (accepted.size < count || rejected.size < count); tries++) {
    const text = one(random)
    if (accepted.size < count) accepted.add(text)
    const near = changed(random.chance(0.3) ? changed(text, random) : text, random)
    if (rejected.size < count && near !== "" && !whole.test(near)) rejected.add(near)
  }
  return { accepted: Array.from(accepted), rejected: Array.from(rejected) }
}
