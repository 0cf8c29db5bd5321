/**
 * Finds the answer behind a marker in a column. Behind hashes (`#### 18`, as GSM8K has it) it is the rest of the line,
 * as MetaMathQA's rows go on with "The answer is: 18"; behind any other marker the rest of the text.
 */

/** The answer behind the last marker; undefined where the text has none. */
export const answerAfter = (text: string, marker: string): string | undefined => {
  const at = text.lastIndexOf(marker)
  if (at === -1) return undefined
  const rest = text.slice(at + marker.length).trim()
  return /^#+\s*$/.test(marker) ? (rest.split("\n", 1)[0] ?? "").trim() : rest
}
