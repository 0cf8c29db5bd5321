/**
 * Normalizes texts before comparison. Each step is a pure function; a suite lists the steps it uses, in order.
 *
 * `punctuation` and `articles` are SQuAD's.
 */

const ascii = /[!-/:-@[-`{-~]/g

/** Strips text in square brackets from a line. */
const unbracketed = (line: string): string => {
  let kept = ""
  let from = 0
  for (;;) {
    const open = line.indexOf("[", from)
    const close = open === -1 ? -1 : line.indexOf("]", open)
    if (close === -1) return kept + line.slice(from)
    kept += line.slice(from, open)
    from = close + 1
  }
}

const steps = {
  strip: (text: string) => text.trim(),
  lower: (text: string) => text.toLowerCase(),
  /** Collapses white space to single spaces. */
  spaces: (text: string) => text.trim().split(/\s+/).join(" "),
  /** Python's `string.punctuation`. */
  punctuation: (text: string) => text.replaceAll(ascii, ""),
  articles: (text: string) => text.replaceAll(/\b(?:a|an|the)\b/g, " "),
  commas: (text: string) => text.replaceAll(",", ""),
  dollars: (text: string) => text.replaceAll("$", ""),
  /** Strips a full stop at the end. */
  stop: (text: string) => text.replace(/\.$/, ""),
  /** The text after the last `#### `. */
  after_hashes: (text: string) => text.slice(text.lastIndexOf("#### ") === -1 ? 0 : text.lastIndexOf("#### ") + 5),
  quotes: (text: string) => text.replace(/^["'“”‘’]{1,3}/, "").replace(/["'“”‘’]{1,3}$/, ""),
  /** `(A)` becomes `A`. */
  brackets: (text: string) => text.replace(/^\(([^()]*)\)$/, "$1"),
  /** `a [step] b` becomes `a  b`. */
  bracketed: (text: string) => text.split("\n").map(unbracketed).join("\n"),
  /** Python's `capitalize`: a first upper-case letter, then lower case. */
  capitalise: (text: string) => {
    const [first = "", ...rest] = text
    return first.toUpperCase() + rest.join("").toLowerCase()
  }
} as const

export type Step = keyof typeof steps

export const names = Object.keys(steps) as [Step, ...Array<Step>]

export const normalise = (text: string, target: ReadonlyArray<Step>): string =>
  target.reduce((written, step) => steps[step](written), text)
