/**
 * Extracts the answer of a solution as lm-evaluation-harness does: the last box, or the text between the first dollar
 * sign and the last (`remove_boxed`, `last_boxed_only_string` of Hendrycks et al.). `MathAnswer.extract` reads more
 * forms, and more strictly.
 */

/** The content of the last `\boxed{…}`, or the text after the last `\boxed `; undefined if no box is closed. */
export const last = (text: string): string | undefined => {
  const spaced = text.split("\\boxed ")
  if (spaced.length > 1) return (spaced.at(-1) ?? "").split("$")[0]
  const box = text.lastIndexOf("\\boxed")
  const start = box === -1 ? text.lastIndexOf("\\fbox") : box
  if (start === -1) return undefined
  let depth = 0
  for (let at = start; at < text.length; at++) {
    if (text[at] === "{") depth++
    if (text[at] === "}" && --depth === 0) {
      const whole = text.slice(start, at + 1)
      return whole.startsWith("\\boxed{") ? whole.slice("\\boxed{".length, -1) : undefined
    }
  }
  return undefined
}

/** The text between the first dollar sign and the last; the whole text if there are fewer than two. */
export const betweenDollars = (text: string): string => {
  const [first, end] = [text.indexOf("$"), text.lastIndexOf("$")]
  return first === end ? text : text.slice(first + 1, end)
}
