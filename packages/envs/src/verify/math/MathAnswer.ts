/**
 * Judges mathematical answers: finds them in completions and decides if they are equivalent to a reference.
 *
 * The decision is exact if arithmetic is exact, and otherwise made at many points to 87 digits; anything undecided is
 * not equal, so that no answer is rewarded because a checker failed. Plain numbers, and sets, intervals and the like of
 * plain numbers, are decided here immediately (`decide`); other leaves need compute-engine (`Latex.load`), which
 * `MathVerifier` runs in a worker. Reference for the cases: Math-Verify, https://github.com/huggingface/Math-Verify.
 */
import * as Chemistry from "./Chemistry.ts"
import * as Compare from "./Compare.ts"
import type { Reader } from "./Latex.ts"
import * as Integers from "./Integers.ts"
import { canonicalText, isWithinLimits, normalise } from "./Normalise.ts"
import * as Plain from "./Plain.ts"
import { parse } from "./Structure.ts"

export {
  accuracyOptions,
  boxedOptions,
  extract,
  extractReference,
  type Options as ExtractOptions
} from "../text/Extract.ts"
export type { Rules } from "./Compare.ts"

/**
 * `1000,99` and `0,5` in plain text are decimals if the other answer is one; in a reference, `1,2` is more likely a
 * list.
 */
const decimalComma = (answer: string, other: string, pattern: RegExp): string => {
  const trimmed = answer.trim()
  return pattern.test(trimmed) && /^[^,]*\d\.\d/.test(other) ? trimmed.replace(",", ".") : answer
}

const referenceComma = /^[+-]?(?:0,\d{2,}|\d+,\d{2})$/
const predictionComma = /^[+-]?(?:\d+,\d{1,2}|0,\d+)$/

const choiceInText = /^\s*\\(?:text[a-z]*|math[a-z]*)\s*\{\s*\(([A-J])\)\s*([^{}]*)\}([^]*)$/
const choiceInPlain = /^\s*\(([A-J])\)([^]*)$/
const spacing = /^(?:[\s~:.]|\\[,;:! ]|\\q?quad(?![a-zA-Z]))+/

/** A choice with its value, as at the end of AMC solutions: `\textbf{(C)}\ 12`. */
const choiceOf = (answer: string): { readonly label: string; readonly value: string } | undefined => {
  const [, label, inside = "", behind = ""] = choiceInText.exec(answer) ?? choiceInPlain.exec(answer) ?? []
  const value = `${inside} ${behind}`.replace(spacing, "").trim()
  return label === undefined || !/^(?:[-\d.$]|\\(?:[dt]?frac|sqrt|pi|text|\$)(?![a-zA-Z]))/.test(value)
    ? undefined
    : { label, value }
}

/** The compared parts of two answers if either names a choice with its value. */
const withoutChoices = (gold: string, prediction: string): readonly [gold: string, prediction: string] | undefined => {
  const [a, b] = [choiceOf(gold), choiceOf(prediction)]
  if (a === undefined && b === undefined) return undefined
  const label = /^(?:\\(?:text[a-z]*|math[a-z]*)\s*\{\s*)?\(?([A-J])\)?\s*\}?$/
  const [own, other] = [a?.label ?? label.exec(gold.trim())?.[1], b?.label ?? label.exec(prediction.trim())?.[1]]
  if (own !== undefined && other !== undefined && (own !== other || a === undefined || b === undefined))
    return [own, other]
  return [a?.value ?? gold, b?.value ?? prediction]
}

/**
 * True if the prediction equals the reference, with leaves read by `read`. Both are answers as returned by `extract`:
 * LaTeX or plain text, with or without delimiters. Answers beyond the limits equal nothing.
 */
export const equivalent = (
  gold: string,
  prediction: string,
  read: Reader,
  rules: Partial<Compare.Rules> = {}
): boolean => {
  const isSameInteger = Integers.areEqual(gold, prediction)
  if (isSameInteger !== undefined) return isSameInteger
  const values = withoutChoices(gold, prediction)
  if (values !== undefined) return equivalent(...values, read, rules)
  if (!isWithinLimits(gold) || !isWithinLimits(prediction)) return false
  const [a, b] = [
    normalise(decimalComma(gold, prediction, referenceComma)),
    normalise(decimalComma(prediction, gold, predictionComma))
  ]
  const written = canonicalText(a)
  if (written === "" || b === "") return false
  if (written === canonicalText(b)) return true
  const formula = Chemistry.canonical(gold)
  if (formula !== undefined && formula === Chemistry.canonical(prediction)) return true
  return Compare.compare(parse(a, read), parse(b, read), { ...Compare.defaultRules, ...rules })
}

/** Max characters of answers processed in the calling thread: well under a millisecond. */
const maxAtOnce = 300

/** The verdict if it needs no engine; undefined if it does, or if it would take long. */
export const decide = (gold: string, prediction: string, rules: Partial<Compare.Rules> = {}): boolean | undefined => {
  const verdict = Integers.areEqual(gold, prediction)
  if (verdict !== undefined) return verdict
  if (gold.length > maxAtOnce || prediction.length > maxAtOnce) return undefined
  let isPlain = true
  const compared = equivalent(
    gold,
    prediction,
    (latex) => {
      const expression = Plain.read(latex)
      if (expression === undefined) isPlain = false
      return expression
    },
    rules
  )
  return compared || isPlain ? compared : undefined
}
