/**
 * Converts French and German intervals: a bracket that faces away from its end excludes it, so that `[0,1[` is `[0,1)`.
 */

const operators =
  /(\\(?:cup|cap|setminus|backslash|in|text\{\s*(?:and|or)\s*\})(?![a-zA-Z])|(?<![a-zA-Z\\])(?:and|or)(?![a-zA-Z])|=)/
const turned = /^(\s*)([[\]])([^[\],;]*[,;][^[\]]*)([[\]])(\s*)$/

/** Writes turned brackets as parentheses. Anything between set operators that is not such an interval is unchanged. */
export const withHalfOpen = (text: string): string => {
  if (!/\][^[\]]*\[|\[[^[\]]*\[|\][^[\]]*\]/.test(text)) return text
  const parts = text.split(operators).map((part) => {
    const [, before = "", open, inside = "", close, after = ""] = turned.exec(part) ?? []
    if (open === undefined || close === undefined || (open === "[" && close === "]")) return part
    return `${before}${open === "]" ? "(" : "["}${inside}${close === "[" ? ")" : "]"}${after}`
  })
  return parts.join("")
}
