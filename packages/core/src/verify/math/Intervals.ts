/**
 * Intervals as they are written in French and German: a bracket that turns away from its end leaves it out, so that
 * `[0,1[` is `[0,1)`.
 */

const operators =
  /(\\(?:cup|cap|setminus|backslash|in|text\{\s*(?:and|or)\s*\})(?![a-zA-Z])|(?<![a-zA-Z\\])(?:and|or)(?![a-zA-Z])|=)/
const turned = /^(\s*)([[\]])([^[\],;]*[,;][^[\]]*)([[\]])(\s*)$/

/** Writes turned brackets as parentheses. What is not an interval in them, between set operators, stays as it is. */
export const withHalfOpen = (text: string): string => {
  if (!/\][^[\]]*\[|\[[^[\]]*\[|\][^[\]]*\]/.test(text)) return text
  const parts = text.split(operators).map((part) => {
    const [, before = "", open, inside = "", close, after = ""] = turned.exec(part) ?? []
    if (open === undefined || close === undefined || (open === "[" && close === "]")) return part
    return `${before}${open === "]" ? "(" : "["}${inside}${close === "[" ? ")" : "]"}${after}`
  })
  return parts.join("")
}
