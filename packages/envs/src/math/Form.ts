/**
 * Checks the form of an answer in addition to its value, so that repeating the problem's formula is not an answer:
 * `\frac{1}{2} + \frac{1}{3}` is not the requested fraction, and `(x+1)(x+2)` is not expanded.
 */
import * as MathAnswer from "../verify/math/MathAnswer.ts"
import * as NumberAnswer from "../verify/Number.ts"

/**
 * A number or fraction, optionally with a unit; a sum without brackets; a multiple of the root of a square-free number.
 */
export type Form = "number" | "expanded" | "radical"

const fraction = String.raw`\\[dt]?frac(?:\{-?\d+\}|\d)(?:\{-?\d+\}|\d)`
const unit = String.raw`(?:[a-z]+(?:\^\{?\d\}?)?)?`

const forms: { readonly [form in Form]: RegExp } = {
  number: new RegExp(String.raw`^(?:[a-z]=)?[-+]?(?:\d+(?:\.\d+)?|\d+\/\d+|\d*${fraction})${unit}$`, "i"),
  expanded: /^(?:f'?\(x\)=|[a-z]'?=)?[^()[\]]*$/,
  radical: /^\d+(?:\\cdot|\*)?\\sqrt(?:\{(?:2|3|5|6|7|10|11)\}|[2-7])$/
}

/** Strips spacing, currency and percent signs, and text wrappers. */
const bare = (answer: string): string =>
  NumberAnswer.asciiSigns(answer)
    .replaceAll(/\\(?:text|mathrm|mbox)\s*\{([^{}]*)\}/g, "$1")
    .replaceAll(/\\(?:left|right|displaystyle)(?![a-z])|\\[,;:! ]|\{,\}|[\s$€%]|\\(?=[$%])/g, "")
    .replaceAll(/(?<=\d),(?=\d{3}(?!\d))/g, "")

export const has = (form: Form | undefined, completion: string): boolean => {
  if (form === undefined) return true
  const answer = MathAnswer.extract(completion, MathAnswer.boxedOptions)
  return answer !== undefined && forms[form].test(bare(answer))
}
