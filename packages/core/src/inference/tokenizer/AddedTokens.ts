/**
 * Finds added tokens in a text like Python's `tokenizers`: the longest match at each position from the left, whole-word
 * tokens only between non-word characters, with the whitespace that a token strips at its sides.
 */

export interface AddedToken {
  readonly content: string
  readonly single_word: boolean
  readonly lstrip: boolean
  readonly rstrip: boolean
}

/** A part of a text: an added token, or the text between. */
export type Section =
  | { readonly token: string }
  | {
      readonly text: string
      /** True if it is the start of the whole text. */
      readonly isFirst: boolean
    }

const letter = "[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}]"
const endsInWord = new RegExp(`${letter}$`, "u")
const beginsWithWord = new RegExp(`^${letter}`, "u")
const blanksAtEnd = /(?<!\p{White_Space})\p{White_Space}+$/u
const blanksAtStart = /^\p{White_Space}+/u

/** The last character, complete: a pattern over the whole prefix would cost time for every token. */
const lastOf = (text: string, end: number): string => text.slice(Math.max(0, end - 2), end)

const isWholeWord = (text: string, start: number, end: number): boolean =>
  !endsInWord.test(lastOf(text, start)) && !beginsWithWord.test(text.slice(end, end + 2))

const blanksBefore = (text: string, from: number, end: number): number =>
  blanksAtEnd.exec(text.slice(from, end))?.[0].length ?? 0

/**
 * The sections of a text; `pieces` are its parts as split by the library's dictionary, each either a token's text or
 * free of tokens.
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
    if (token === undefined || (token.single_word && !isWholeWord(text, start, end))) continue
    // A token may begin within the whitespace that the one before it stripped, unless it strips there itself.
    const begin = token.lstrip ? Math.max(from, start - blanksBefore(text, from, start)) : start
    const stop = token.rstrip ? end + (blanksAtStart.exec(text.slice(end))?.[0].length ?? 0) : end
    if (begin < stop) {
      addText(begin)
      found.push({ token: token.content })
    }
    from = stop
  }
  addText(text.length)
  return found
}
