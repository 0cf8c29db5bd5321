/**
 * Splits a long text into chunks that are separately valid markdown: at blank lines outside of code fences if there is
 * one in the second half of a chunk, otherwise at the max size. Joined they equal the text.
 */
export const chunks = (text: string, size: number): ReadonlyArray<string> => {
  const pieces: Array<string> = []
  let at = 0
  while (text.length - at > size) {
    const end = cut(text, at, size)
    pieces.push(text.slice(at, end))
    at = end
  }
  pieces.push(text.slice(at))
  return pieces
}

const cut = (text: string, from: number, size: number): number => {
  const piece = text.slice(from, from + size)
  let isFenced = false
  let last = -1
  for (const { 0: found, index } of piece.matchAll(/^ {0,3}(?:```|~~~)|\n[ \t]*\n/gm)) {
    if (found.trim() !== "") isFenced = !isFenced
    else if (!isFenced) last = index + found.length
  }
  if (last >= size / 2) return from + last
  // Keeps surrogate pairs together.
  return from + (/[\ud800-\udbff]$/.test(piece) ? size - 1 : size)
}
