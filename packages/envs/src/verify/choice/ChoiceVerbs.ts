/** Parses verbs that state the answer, and the choices named after them. */
import type { Named } from "./ChoiceTokens.ts"
import type { Names } from "./ChoiceNames.ts"
import * as Words from "./ChoiceWords.ts"

/** The choices named after a verb. */
export interface Complement {
  readonly named: Named
  readonly isEither: boolean
  readonly isNeither: boolean
}

/** The token after a verb, and whether it is negated. */
export interface Verb {
  readonly next: number
  readonly isDenied: boolean
}

export type Verbs = ReturnType<typeof verbsOf>

export const verbsOf = ({ list, skip, word }: Names) => {
  /** The token after "is", "must be" and similar, and whether they are negated. */
  const copula = (at: number): Verb | undefined => {
    const first = word(at)
    const isNegative = first.endsWith("n't") || first === "cannot"
    if (/^(?:seems|appears|turns)$/.test(first) && word(at + 1) !== "to" && word(at + 1) !== "out") {
      return first === "seems" ? { next: at + 1, isDenied: false } : undefined
    }
    if (first === "matches") return { next: at + 1, isDenied: false }
    if (first === "corresponds" && word(at + 1) === "to") return { next: at + 2, isDenied: false }
    if (Words.copulas.has(first) || /^(?:is|are|was)n't$/.test(first)) {
      const next = skip(at + 1, Words.adverbs)
      const isDenied = word(next) === "not" || word(next) === "never"
      return { next: isDenied ? next + 1 : at + 1, isDenied: isDenied || isNegative }
    }
    if (!Words.modals.has(first) && !isNegative && first !== "could") return undefined
    let next = at + 1
    let isDenied = isNegative
    while (Words.adverbs.has(word(next)) || Words.modalFillers.has(word(next)) || /^(?:not|never)$/.test(word(next))) {
      isDenied ||= word(next) === "not" || word(next) === "never"
      next += 1
    }
    // "It could be A" states nothing, "it could not be A" does.
    if (word(next) !== "be" || (first === "could" && !isDenied)) return undefined
    return { next: next + 1, isDenied }
  }

  /** The choices named after a copula, skipping words without effect. */
  const complement = (at: number): Complement | undefined => {
    for (let next = at; next < at + 8; next += 1) {
      const named = list(next)
      const pair = word(next) === "either" || word(next) === "neither" ? word(next) : undefined
      if (named !== undefined) return { named, isEither: pair === "either", isNeither: pair === "neither" }
      const isAside = word(next) === "," && (word(next + 1) === "of" || word(next - 1) === "course")
      if (!Words.adverbs.has(word(next)) && !isAside && !/^(?:[:\n]|either)$/.test(word(next))) return undefined
    }
    return undefined
  }

  return { complement, copula }
}
