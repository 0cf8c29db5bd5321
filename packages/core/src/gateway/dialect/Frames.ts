/** Writes server-sent events, and splits texts into chunks. */

/** An event, with a name if the dialect names its events. */
export const frame = (data: unknown, event?: string): string =>
  `${event === undefined ? "" : `event: ${event}\n`}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`

/** A comment, which clients ignore: keeps a connection open. */
export const comment = ": waiting\n\n"

/** Characters per chunk: a few words, so that a text grows smoothly without becoming a thousand events. */
const pieceLength = 64

/** Splits a text into chunks without splitting characters; an empty text has none. */
export const pieces = (text: string): ReadonlyArray<string> => {
  const all: Array<string> = []
  for (let from = 0; from < text.length;) {
    let to = Math.min(text.length, from + pieceLength)
    // A surrogate pair is one character.
    if (to < text.length && (text.charCodeAt(to - 1) & 0xfc00) === 0xd800) to += 1
    all.push(text.slice(from, to))
    from = to
  }
  return all
}
