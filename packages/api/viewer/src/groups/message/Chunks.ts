/**
 * A long text in pieces that can be read as markdown one after the other: cut at blank lines outside of code fences
 * where there is one in the second half of a piece, else where the piece is full. Joined they are the text.
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
  // Halves of a surrogate pair stay together.
  return from + (/[\ud800-\udbff]$/.test(piece) ? size - 1 : size)
}
