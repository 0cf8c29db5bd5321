/**
 * Reads the number of a sentence or a label inside of a box: "The answer is 18", "Total: $18", "Tom has 18 apples".
 * The number follows a verb or a sign directly, is the only one, and nothing denies, bounds or computes it. Linear.
 */
import * as Spelled from "./Spelled.ts"
import * as Wording from "./Wording.ts"

const maxLength = 200
const command = /\\(?:text|textbf|textit|textrm|mathrm|mbox)\s?\{([^{}]*)\}/g

const verbs =
  "is|are|was|were|equals|totals|has|have|had|makes?|made|earns?|earned|needs?|needed|gets?|got|spends?|spent|pays?|paid|costs?|sells?|" +
  "sold|takes?|took|eats?|ate|bought|buys?|receives?|received|saves?|saved|collects?|collected|scores?|scored|reads?|weighs?|" +
  "travels?|traveled|walks?|walked|ran|runs?|drives?|drove|works?|worked|lasts?|owes?|there (?:is|are|were|will be)|will be"
const value = String.raw`-?(?:\\?[$€£]\s?)?(?:\d[\d,]{0,40}(?:\.\d{1,40})?(?:\/\d{1,40})?|\\[dt]?frac\s?\{\d{1,40}\}\s?\{\d{1,40}\})(?:\s?\\?%)?`
const sentence = new RegExp(
  String.raw`^([a-zA-Z][a-zA-Z'’ ,()-]{1,100}?)\s?(?:[:=]|(?<![a-zA-Z])(${verbs}))\s{0,2}(${value})((?:\s[a-zA-Z]{1,20}){0,6})[.!]?$`,
  "i"
)
const startsWithVerb = new RegExp(
  String.raw`^(There) (is|are|were|will be)\s(${value})((?:\s[a-zA-Z]{1,20}){0,6})[.!]?$`,
  "i"
)
/** A label has a word, and is no function: `ex = 5` and `sqrt x = 5` are equations. */
const label = /[a-zA-Z]{4}/
const subject = /[a-zA-Z]{2}/
const named = /(?<![a-zA-Z])(?:sqrt|floor|ceil|round|arc(?:sin|cos|tan)|sinh|cosh|tanh|frac)(?![a-zA-Z])/i
const place =
  /(?<![a-zA-Z])(?:step|option|choice|part|case|question|problem|page|figure|equation|method|example|item)\s?$/i

/** The number with its unit; undefined if the text is no such sentence. */
export const valueIn = (answer: string): string | undefined => {
  if (answer.length > maxLength || !/[a-zA-Z]{2}/.test(answer)) return undefined
  const plain = answer
    .replaceAll(command, " $1 ")
    .replaceAll(/\\(?:[ ,;:]|q?quad(?![a-zA-Z]))|[~$](?!\s?\d)/g, " ")
    .replaceAll(/\s+/g, " ")
    .trim()
  const spelled = Spelled.withoutWords(plain)
  if (spelled !== plain) return spelled
  const [, before = "", verb, number, behind = ""] = startsWithVerb.exec(plain) ?? sentence.exec(plain) ?? []
  if (
    number === undefined ||
    place.test(before) ||
    !(verb === undefined ? label : subject).test(before) ||
    named.test(before)
  )
    return undefined
  return Wording.isValueBetween(before.replace(/(?<![a-zA-Z])there\s/i, ""), behind) ? number + behind : undefined
}
