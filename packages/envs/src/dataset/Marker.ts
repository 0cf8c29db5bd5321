/**
 * Finds the answer after a marker in a column. After hashes (`#### 18`, as in GSM8K) it is the rest of the line, since
 * MetaMathQA's rows continue with "The answer is: 18"; after any other marker the rest of the text.
 */

/** The answer after the last marker; undefined if the text has none. */
export const answerAfter = (text: string, marker: string): string | undefined => {
  const at = text.lastIndexOf(marker)
  if (at === -1) return undefined
  const rest = text.slice(at + marker.length).trim()
  return /^#+\s*$/.test(marker) ? (rest.split("\n", 1)[0] ?? "").trim() : rest
}
