/**
 * Compares LaTeX answers like Hendrycks et al.: normalized, then compared as texts.
 *
 * The rules of `strip_string` (https://github.com/hendrycks/math, MIT), in their order and with their limits: no
 * algebra, `\frac12` for `\frac{1}{2}`, units after `\text{ ` cut off, degrees and percent signs removed. If the
 * original raises an exception, its `is_equiv` compares the texts unchanged, and so does this. MATH's and AIME's scores
 * of lm-evaluation-harness use these; for mathematical equivalence use the scorer `math`.
 */

/** `\frac12` as `\frac{1}{2}`; undefined if the original would raise. */
const fixFractions = (text: string): string | undefined => {
  const [head = "", ...parts] = text.split("\\frac")
  let written = head
  for (const part of parts) {
    written += "\\frac"
    if (part === "") return undefined
    if (part.startsWith("{")) {
      written += part
      continue
    }
    if (part.length < 2) return text
    const [a = "", b = ""] = Array.from(part)
    const rest = part.slice(a.length + b.length)
    written += b === "{" ? `{${a}}${b}${rest}` : `{${a}}{${b}}${rest}`
  }
  return written
}

const whole = /^[+-]?\d+(?:_\d+)*$/
const canonical = /^(?:0|-?[1-9]\d*)$/

/** A fraction of two integers, `3/4`; undefined if the original would raise. */
const fixSlash = (text: string): string | undefined => {
  const [a = "", b = "", ...more] = text.split("/")
  if (!text.includes("/") || more.length > 0) return text
  if (!whole.test(a) || !whole.test(b)) return undefined
  return canonical.test(a) && canonical.test(b) ? `\\frac{${a}}{${b}}` : text
}

/** The text before the only unit, `\text{ `; undefined if there are several. */
const withoutUnits = (text: string): string | undefined => {
  const parts = text.split("\\text{ ")
  return parts.length > 2 ? undefined : parts[0]
}

const fixRoots = (text: string): string | undefined => {
  const [head = "", ...parts] = text.split("\\sqrt")
  let written = head
  for (const part of parts) {
    if (part === "") return undefined
    const [first = ""] = Array.from(part)
    written += first === "{" ? `\\sqrt${part}` : `\\sqrt{${first}}${part.slice(first.length)}`
  }
  return written
}

const stripped = (text: string): string | undefined => {
  const plain = text
    .replaceAll("\n", "")
    .replaceAll("\\!", "")
    .replaceAll("\\\\", "\\")
    .replaceAll("tfrac", "frac")
    .replaceAll("dfrac", "frac")
    .replaceAll("\\left", "")
    .replaceAll("\\right", "")
    .replaceAll("^{\\circ}", "")
    .replaceAll("^\\circ", "")
    .replaceAll("\\$", "")
  const unitless = withoutUnits(plain)
  if (unitless === undefined) return undefined
  let written = unitless.replaceAll("\\%", "").replaceAll(" .", " 0.").replaceAll("{.", "{0.")
  if (written === "") return written
  if (written.startsWith(".")) written = `0${written}`
  const sides = written.split("=")
  if (sides.length === 2 && (sides[0] ?? "").length <= 2) written = sides[1] ?? ""
  const rooted = fixRoots(written)
  if (rooted === undefined) return undefined
  const fractions = fixFractions(rooted.replaceAll(" ", ""))
  if (fractions === undefined) return undefined
  return fixSlash(fractions === "0.5" ? "\\frac{1}{2}" : fractions)
}

/** Compares two normalized answers; the original texts if one cannot be normalized. */
export const equal = (one: string, other: string): boolean => {
  const [a, b] = [stripped(one), stripped(other)]
  return a === undefined || b === undefined ? one === other : a === b
}
