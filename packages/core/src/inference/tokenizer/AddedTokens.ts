/**
 * Finds added tokens in a text, as Python's `tokenizers` does: the longest at each place from the left, those of whole
 * words only between characters that are none of a word, with the blanks that a token takes at its sides.
 */

export interface AddedToken {
  readonly content: string
  readonly single_word: boolean
  readonly lstrip: boolean
  readonly rstrip: boolean
}

/** A part of a text: an added token, or what is between. */
export type Section =
  | { readonly token: string }
  | {
      readonly text: string
      /** Whether the whole text begins with it. */
      readonly isFirst: boolean
    }

const letter = "[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}]"
const endsInWord = new RegExp(`${letter}$`, "u")
const beginsWithWord = new RegExp(`^${letter}`, "u")
const blanksAtEnd = /(?<!\p{White_Space})\p{White_Space}+$/u
const blanksAtStart = /^\p{White_Space}+/u

/** The last character, whole: a pattern over all that stands before would take time for every token. */
const lastOf = (text: string, end: number): string => text.slice(Math.max(0, end - 2), end)

const isWholeWord = (text: string, start: number, end: number): boolean =>
  !endsInWord.test(lastOf(text, start)) && !beginsWithWord.test(text.slice(end, end + 2))

const blanksBefore = (text: string, from: number, end: number): number =>
  blanksAtEnd.exec(text.slice(from, end))?.[0].length ?? 0

/**
 * The sections of a text; `pieces` are its parts as the library's dictionary cuts them, each either the text of a token
 * or free of any.
 */
export const sections = (
  text: string,
  pieces: ReadonlyArray<string>,
  tokens: { readonly get: (text: string) => AddedToken | undefined }
): ReadonlyArray<Section> => {
  const found: Array<Section> = []
  let from = 0
  const addText = (end: number): void => {
    if (end > from) found.push({ text: text.slice(from, end), isFirst: from === 0 })
  }
  let at = 0
  for (const piece of pieces) {
    const [start, end] = [at, at + piece.length]
    at = end
    const token = tokens.get(piece)
    if (token === undefined || start < from || (token.single_word && !isWholeWord(text, start, end))) continue
    addText(token.lstrip ? start - blanksBefore(text, from, start) : start)
    found.push({ token: token.content })
    from = token.rstrip ? end + (blanksAtStart.exec(text.slice(end))?.[0].length ?? 0) : end
  }
  addText(text.length)
  return found
}
