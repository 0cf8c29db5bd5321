/** Server-sent events, and texts in the pieces that they come in. */

/** An event, named where the dialect names its events. */
export const frame = (data: unknown, event?: string): string =>
  `${event === undefined ? "" : `event: ${event}\n`}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`

/** Characters of a piece: some words, so that a text grows as it does elsewhere and is not a thousand events. */
const pieceLength = 64

/** A text in pieces that join to it again; no character is cut in two, and no text is no piece. */
export const pieces = (text: string): ReadonlyArray<string> => {
  const all: Array<string> = []
  for (let from = 0; from < text.length;) {
    let to = Math.min(text.length, from + pieceLength)
    // A pair of surrogates is one character.
    if (to < text.length && (text.charCodeAt(to - 1) & 0xfc00) === 0xd800) to += 1
    all.push(text.slice(from, to))
    from = to
  }
  return all
}
