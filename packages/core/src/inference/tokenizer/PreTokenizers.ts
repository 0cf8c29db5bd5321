/**
 * Splits a text as Python's `tokenizers` does for the pre-tokenizers of `tokenizer.json`: the JavaScript library has
 * other rules for whitespace, words, digits and punctuation, and lacks some split behaviors.
 */

/** Treatment of a part that the pattern matched. */
export type Behavior = "isolated" | "removed" | "mergedwithprevious" | "mergedwithnext" | "contiguous"

type Config = { readonly [key: string]: unknown }

export type Cut = (text: string) => Array<string>

interface Part {
  readonly text: string
  readonly isMatch: boolean
}

const blank = "\\p{White_Space}"
const letter = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}"
const punctuation = "[\\p{P}\\u0021-\\u002F\\u003A-\\u0040\\u005B-\\u0060\\u007B-\\u007E]"

/** The pattern of the first byte-level models, with Unicode whitespace. */
export const byteLevel = new RegExp(
  `'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^${blank}\\p{L}\\p{N}]+|${blank}+(?!\\P{White_Space})|${blank}+`,
  "gu"
)

/** Splits a text into matches of a pattern and the text between. */
export const parts = (text: string, pattern: RegExp, isInverted = false): ReadonlyArray<Part> => {
  const found: Array<Part> = []
  let from = 0
  const add = (to: number, isMatch: boolean): void => {
    if (to > from) found.push({ text: text.slice(from, to), isMatch: isMatch !== isInverted })
    from = to
  }
  for (const match of text.matchAll(pattern)) {
    add(match.index, false)
    add(match.index + match[0].length, true)
  }
  add(text.length, false)
  return found
}

export const apply = (behavior: Behavior, all: ReadonlyArray<Part>): Array<string> => {
  switch (behavior) {
    case "isolated":
      return all.map(({ text }) => text)
    case "removed":
      return all.filter(({ isMatch }) => !isMatch).map(({ text }) => text)
    default:
      return joined(behavior, all)
  }
}

/** Joins a part to the one before it: a match to any, what follows a match to it, or like to like. */
const joined = (behavior: Exclude<Behavior, "isolated" | "removed">, all: ReadonlyArray<Part>): Array<string> => {
  const texts: Array<string> = []
  for (const [at, { isMatch, text }] of all.entries()) {
    const before = all[at - 1]
    const joins =
      before !== undefined &&
      (behavior === "contiguous"
        ? before.isMatch === isMatch
        : behavior === "mergedwithprevious"
          ? isMatch && !before.isMatch
          : before.isMatch && !isMatch)
    if (joins) texts.push(`${texts.pop() ?? ""}${text}`)
    else texts.push(text)
  }
  return texts
}

const behaviorOf = (value: unknown, otherwise: Behavior): Behavior | undefined => {
  const name = typeof value === "string" ? value.toLowerCase() : otherwise
  return ["isolated", "removed", "mergedwithprevious", "mergedwithnext", "contiguous"].includes(name)
    ? (name as Behavior)
    : undefined
}

const cutBy =
  (pattern: RegExp, behavior: Behavior, isInverted = false): Cut =>
  (text) =>
    apply(behavior, parts(text, pattern, isInverted))

const metaspace = ({ prepend_scheme: scheme = "always", replacement = "▁", split = true }: Config) => {
  const mark = String(replacement)
  const pattern = new RegExp(mark.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "gu")
  return (text: string, isFirst: boolean): Array<string> => {
    const marked = text.replaceAll(" ", mark)
    const isPrepended = !marked.startsWith(mark) && (scheme === "always" || (scheme === "first" && isFirst))
    const whole = isPrepended ? `${mark}${marked}` : marked
    return split === false ? [whole] : apply("mergedwithnext", parts(whole, pattern))
  }
}

const characters = (text: string, length: number): Array<string> => {
  const all = Array.from(text)
  return Array.from({ length: Math.ceil(all.length / length) }, (_, at) =>
    all.slice(at * length, (at + 1) * length).join("")
  )
}

/**
 * The split of a pre-tokenizer, if the library's differs; `pattern` is the library's compiled pattern. `isFirst`: the
 * text is the start of the whole.
 */
export const cutOf = (
  config: Config,
  pattern: RegExp | null | undefined
): ((text: string, isFirst: boolean) => Array<string>) | undefined => {
  switch (config["type"]) {
    case "Metaspace":
      return metaspace(config)
    case "Split": {
      const behavior = behaviorOf(config["behavior"], "isolated")
      return behavior === undefined || !pattern ? undefined : cutBy(pattern, behavior, config["invert"] === true)
    }
    case "Punctuation": {
      const behavior = behaviorOf(config["behavior"], "isolated")
      return behavior === undefined ? undefined : cutBy(new RegExp(punctuation, "gu"), behavior)
    }
    case "Digits":
      return cutBy(/\p{N}/gu, config["individual_digits"] === true ? "isolated" : "contiguous")
    case "Whitespace":
      return cutBy(new RegExp(`[${letter}]+|[^${letter}${blank}]+`, "gu"), "removed", true)
    case "WhitespaceSplit":
      return cutBy(/\p{White_Space}/gu, "removed")
    case "BertPreTokenizer":
      return (text) =>
        apply("removed", parts(text, /\p{White_Space}/gu)).flatMap((word) =>
          apply("isolated", parts(word, new RegExp(punctuation, "gu")))
        )
    case "FixedLength":
      return (text) => characters(text, Number(config["length"] ?? 5))
    default:
      return undefined
  }
}
