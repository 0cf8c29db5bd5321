/**
 * Splits a growing text into its JSON values, either the elements of one array or consecutive values, each with its row
 * number, without parsing the whole.
 */

/** One value's text, and its row (from 1). */
export interface RowText {
  readonly text: string
  readonly row: number
}

export interface Cutter {
  /** The pieces completed by this text. */
  readonly push: (text: string) => ReadonlyArray<RowText>
  /** The last piece, once the text has ended. */
  readonly end: () => ReadonlyArray<RowText>
  /** True if the values are the elements of one array, as far as the text has arrived. */
  readonly isArray: () => boolean
}

const blank = /^\s*$/

const quote = 0x22
const comma = 0x2c
const backslash = 0x5c
const isOpening = (code: number): boolean => code === 0x7b || code === 0x5b
const isClosing = (code: number): boolean => code === 0x7d || code === 0x5d

export const elements = (): Cutter => {
  let rest = ""
  let scanned = 0
  let row = 0
  let depth = 0
  // The depth of an element: 1 inside an array, 0 for consecutive values; known after the first character.
  let base: 0 | 1 | undefined
  let isInString = false

  const push = (text: string): ReadonlyArray<RowText> => {
    const pieces: Array<RowText> = []
    rest += text
    let start = 0
    const cut = (end: number, next: number): void => {
      const piece = rest.slice(start, end)
      if (!blank.test(piece)) pieces.push({ text: piece, row: ++row })
      start = next
    }
    let at = scanned
    for (; at < rest.length; at++) {
      const code = rest.charCodeAt(at)
      if (isInString) {
        if (code === backslash) at++
        else if (code === quote) isInString = false
      } else if (code === quote) isInString = true
      else if (isOpening(code)) {
        base ??= code === 0x5b ? 1 : 0
        depth++
        if (base === 1 && depth === 1) start = at + 1
      } else if (isClosing(code)) {
        depth--
        if (depth === 0) cut(base === 1 ? at : at + 1, at + 1)
      } else if (code === comma && base === 1 && depth === 1) cut(at, at + 1)
    }
    // An escape at the very end includes the character that has not arrived yet.
    scanned = at - start
    rest = rest.slice(start)
    return pieces
  }
  return { push, isArray: () => base === 1, end: () => (blank.test(rest) ? [] : [{ text: rest, row: row + 1 }]) }
}
