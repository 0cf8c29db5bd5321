/**
 * Reads choices with their values, as at the end of AMC solutions and in rows of multiple choice: `\textbf{(C)}\ 12`,
 * `C) 12`, `\text{C. Paris}`. Such a reference is answered by its label or its value, and a label by such an answer.
 */

const command = String.raw`\\(?:text[a-z]*|math[a-z]*)\s*\{\s*`
const patterns: ReadonlyArray<RegExp> = [
  new RegExp(String.raw`^\s*${command}\(([A-J])\)\s*([^{}]*)\}([^]*)$`),
  new RegExp(String.raw`^\s*\(\s*(?:${command})?([A-J])\s*\}?\s*\)([^]*)$`),
  new RegExp(String.raw`^\s*${command}([A-J])\s*[).:]([^{}]*)\}([^]*)$`),
  new RegExp(String.raw`^\s*${command}([A-J])\s*\}\s*[).:]()([^]*)$`),
  // "A. 12" and "A: 12" label an answer as such.
  /^\s*([B-J])[.:](?=\s)([^]*)$/,
  /^\s*([A-J])\)([^]*)$/
]
const spacing = /^(?:[\s~:.]|\\[,;:! ]|\\q?quad(?![a-zA-Z]))+/
/** Not an operator: `(A) \cup (B)` is no choice. */
const anyValue = /^(?:[-\d.$a-zA-Z]|\(\s?[-\d]|\\(?:[dt]?frac|sqrt|pi|text[a-z]*|math[a-z]*|\$)(?![a-zA-Z]))/
const mathematical = /^(?:[-\d.$]|\\(?:[dt]?frac|sqrt|pi|text|\$)(?![a-zA-Z]))/
const onlyLabel = /^(?:\\(?:text[a-z]*|math[a-z]*)\s*\{\s*)?(?:(?:option|choice)\s)?\(?([A-J])\)?\s*\}?$/i

interface Choice {
  readonly label: string
  readonly value: string
}

const choiceOf = (answer: string): Choice | undefined => {
  const match = patterns.map((pattern) => pattern.exec(answer)).find((one) => one !== null)
  const [, label, inside = "", behind = ""] = match ?? []
  const value = `${inside} ${behind}`.replace(spacing, "").trim()
  return label === undefined || !anyValue.test(value) ? undefined : { label, value }
}

const labelOf = (answer: string): string | undefined => {
  const label = onlyLabel.exec(answer.trim())?.[1]
  return label !== undefined && /[A-J]/.test(label) ? label : undefined
}

/** The compared parts of two answers if either names a choice with its value. */
export const without = (gold: string, prediction: string): readonly [gold: string, prediction: string] | undefined => {
  const [a, b] = [choiceOf(gold), choiceOf(prediction)]
  const [own, other] = [a?.label ?? labelOf(gold), b?.label ?? labelOf(prediction)]
  const areLabelled = own !== undefined && other !== undefined
  // Labels alone are compared as texts.
  if (own === gold.trim() && other === prediction.trim()) return undefined
  if (areLabelled && (own !== other || a === undefined || b === undefined)) return [own, other]
  const isValue = (choice: Choice | undefined) => choice === undefined || mathematical.test(choice.value)
  if ((a === undefined && b === undefined) || !isValue(a) || !isValue(b)) return undefined
  return [a?.value ?? gold, b?.value ?? prediction]
}
