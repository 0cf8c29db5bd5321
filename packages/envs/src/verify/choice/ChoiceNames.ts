/** Defines the tokens of a text: its words, the choices named in it, and lists of them. */
import { type Choices, type Named, named, type Token } from "./ChoiceTokens.ts"
import * as Words from "./ChoiceWords.ts"

/** Max choices in a list. */
const longestList = 30

/** Joins choices to a list. */
export const joins: ReadonlySet<string> = new Set(
  ", / & and or nor vs. versus plus also possibly maybe perhaps even alternatively else".split(" ")
)

export type Names = ReturnType<typeof namesOf>

/** Finds named choices in one text. All functions take a token index. */
export const namesOf = (tokens: ReadonlyArray<Token>, choices: Choices) => {
  const names: Array<Named | null> = []
  const nameAt = (at: number): Named | undefined => {
    names[at] ??= named(tokens, at, choices) ?? null
    return names[at] ?? undefined
  }
  const word = (at: number): string => tokens[at]?.word ?? ""
  const skip = (at: number, words: ReadonlySet<string>): number => {
    let next = at
    while (words.has(word(next))) next += 1
    return next
  }

  /** Consecutive named choices, joined by commas or words. */
  const list = (at: number): Named | undefined => {
    const start = word(at) === "either" || word(at) === "both" || word(at) === "neither" ? at + 1 : at
    const first = nameAt(start)
    if (first === undefined) return undefined
    const places = new Set(first.places)
    let next = first.next
    for (let length = 1; length < longestList; length += 1) {
      const more = another(next)
      if (more === undefined) break
      for (const place of more.places) places.add(place)
      next = more.next
    }
    return next === first.next ? first : { places: Array.from(places), next, isPlain: first.isPlain }
  }

  const another = (at: number): Named | undefined => {
    const isPair = word(at) === "as" && word(at + 1) === "well" && word(at + 2) === "as"
    const from = isPair ? at + 3 : skip(at, joins)
    const more = from === at ? undefined : nameAt(from)
    if (more === undefined) return undefined
    const isChoice = tokens.slice(at, from).some((token) => /^(?:or|nor|\/|vs\.|versus)$/.test(token.word))
    // "B, A is wrong" continues with another statement.
    const follower = word(more.next)
    return !isChoice && Words.verbs.has(follower) ? undefined : more
  }

  return { list, nameAt, skip, word }
}
