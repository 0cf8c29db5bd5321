/**
 * Reads the value of a statement in prose: "that Tom pays 1,200, including tax", "72 clips, in total", "72 (see
 * above)".
 *
 * Remarks after a value are removed if they neither deny, doubt nor compute and name no other value. The rest is the
 * answer or, if it is a sentence, its only number. Linear in the text.
 */
import * as Spelled from "./Spelled.ts"
import * as Wording from "./Wording.ts"

/**
 * Sign, currency, digits and percent. A comma before exactly three digits separates thousands, a comma before other
 * digits is a decimal comma, a comma before anything else ends the number; `1,200,00` is invalid.
 */
const numbers =
  /(?<![\w.\\]|\d,)[-+]?(?:\\?\$|€|£)?\s?(?:\d+(?:[.,'’]\d+){2,50}(?![\d]|[.,]\d)|\d{1,3}['’]\d{3}(?!\d)|\d{1,3}(?: \d{3}){1,20}(?!\d|,\d)(?:\.\d+)?|\d{1,3}(?:,\d{3}){1,50}(?!\d|,\d)(?:\.\d+)?|\d+\s*\/\s*\d+|\d+,\d+(?!\d|,\d)|\d+(?!\d|,\d)(?:\.\d+)?|\.\d+)(?:\s*(?:\\?[%％]|per\s?cent(?:age)?\b|pct\b))?/g

/** The last number in plain text, with sign, currency and percent sign. */
export const lastNumber = (text: string): string | undefined => [...text.matchAll(numbers)].at(-1)?.[0]

/** True if there are consecutive words outside of `\text{…}`. */
export const isProse = (text: string): boolean =>
  /(?<![a-zA-Z'’])[a-zA-Z'’]{2,}\s+[a-zA-Z'’]{2,}\s+[a-zA-Z'’]{2,}/.test(
    text.replaceAll(/\\text\w*\{[^{}]*\}|\\[a-zA-Z]+/g, " \\ ")
  )

/** True if there is a word that is not the name of a function or constant. */
export const hasWord = (text: string): boolean =>
  /[a-zA-Z]{4,}/.test(
    text.replaceAll(/\\text\w*\{[^{}]*\}|\\[a-zA-Z]+|\b(?:arc(?:sin|cos|tan)|sqrt|frac|infinity)\b/g, " ")
  )

/**
 * The number that prose states: the one after its last "=", or the only one; an empty text if it belongs to something
 * else or there are several.
 */
const onlyNumber = (prose: string): string => {
  const start = prose.lastIndexOf("=") + 1
  const [first, ...more] = [...prose.slice(start).matchAll(numbers)]
  const number = first?.[0].trim() ?? ""
  if (first === undefined) return ""
  const end = start + first.index + first[0].length
  const [next] = more.filter(([other]) => other.trim() !== number)
  // "= 5 hours to read 120 pages" means 5, "5 or 6" does not.
  const isComputed = start > 0 && /^[\s$€£]*$/.test(prose.slice(start, start + first.index))
  const between = next === undefined ? "" : prose.slice(end, start + next.index)
  if (next !== undefined && !(isComputed && Wording.isNeutral(between) && /[a-zA-Z]{2}/.test(between))) return ""
  // A number directly after "=" is computed, regardless of the computation's words.
  const before = prose.slice(start, start + first.index)
  const computation = prose.slice(0, start)
  const isOpen = Wording.denies(computation) || Wording.isDoubtful(Wording.clauseBefore(computation.slice(0, -1)))
  return !isOpen && Wording.isValueBetween(before, prose.slice(end)) ? number : ""
}

/**
 * Possible starts of a remark: punctuation before whitespace, a dash, a bracket with words, "of" after a percent sign.
 */
const remarkStart =
  /[,;:](?=\s)|\s\((?=[^()]*[a-zA-Z=])|(?<=[a-zA-Z])\s\((?=\d[\d.,]{0,20}\s?[+×*/-])|\s[–—-](?=\s)|[–—](?=[\s\p{L}])|(?<=%|percent)\s(?=of\b)/gu
/** A value with more such positions is a list. */
const maxStarts = 20
const maxRemark = 1_000

/** A separate clause, whose numbers are not the value. */
const clause =
  /^(?:because|since|as|which|where|including|with|given|made up|namely|i\.e|that is|rounded|after|when|from|by|for|due|using|consisting|who|of|up from|down from|compared (?:to|with)|on [A-Z][a-z]+day)(?![a-zA-Z])/i

const takesBack = /(?<![a-zA-Z])(?:wrong|incorrect|false|mistaken|untrue|not\s+(?:correct|right|true))(?![a-zA-Z])/i

const startsWithNumber = /^[\s"'“‘`*_(]*[-+]?(?:\\?\$|€|£)?\s?\.?\d/
const reason = /[\s,;:(–—-]{0,3}\s(?:because|since|as|given that)\s/i
/** "as well as", "as long as": not reasons. */
const comparison = /(?<![a-zA-Z])as\s+(?:well|many|much|opposed|long|if|far|big|large|high|low|soon)(?![a-zA-Z])/i

/** A value with at most three words of a unit, up to the punctuation before its explanation: "12 hours: 3 times 4". */
const explained =
  /^[\s"'“‘`*_(]{0,8}[-+]?(?:\\?\$|€|£)?[ \t]?(?:\d[\d,]{0,40}(?:\.\d{1,40})?|\.\d{1,40})(?:[ \t]{0,2}\/[ \t]{0,2}\d{1,20})?\$?(?:[ \t]?(?:\\?[%％]|°))?[*_$]{0,4}(?:[ \t][a-zA-Z°]{1,20}){0,3}[*_]{0,3}(?=[:;][ \t]|[ \t][—–][ \t]|[ \t]-[ \t][a-zA-Z]{3}|[—–]\p{L})/u
/** A calculation, or words that do not follow a number as in a ratio ("2: 3 for boys") or a time ("12: 30 pm"). */
const calculation =
  /^[^a-zA-Z]{0,40}\d[ \t]{0,3}(?:[*×·+/x-]|\\(?:times|cdot|div)|times|plus|minus|over|per|divided by|multiplied by)[ \t]{0,3}[\d$€£(]/i
const otherThanRatio =
  /^(?![\s$]{0,5}[\d.,]{1,20}\s{0,3}(?:for|to|[ap]\.?\s?m\.?|o'clock|hours?[\s.]*$|h|$)(?![a-zA-Z]))/i
const interrupted = /^(?:no|nope|wait|or|actually|sorry|oops|correction|rather|hmm+|well|but|not)(?![a-zA-Z])/i

/** Start of the explanation of the value that a statement begins with; -1 if none. */
const explanationAt = (stated: string): number => {
  const at = explained.exec(stated)?.[0].length ?? -1
  const tail = at === -1 ? "" : stated.slice(at).replace(/^[\s:;—–]+(?:-\s)?/, "")
  const isExplanation = calculation.test(tail) || (otherThanRatio.test(tail) && /[a-zA-Z]{2}/.test(tail))
  const isOpen = tail.length > maxRemark || interrupted.test(tail) || tail.includes("?") || Wording.isDoubtful(tail)
  return isExplanation && !isOpen ? at : -1
}

/** A statement that begins with its value, without the explanation, whose words and numbers do not belong to it. */
export const withoutReason = (stated: string): string => {
  if (!startsWithNumber.test(stated)) return stated
  const explanation = explanationAt(stated)
  const at = explanation !== -1 ? explanation : comparison.test(stated) ? -1 : stated.search(reason)
  return at === -1 || takesBack.test(stated.slice(at)) ? stated : stated.slice(0, at)
}

export const beginsWithValue = (stated: string): boolean => startsWithNumber.test(stated)

/** True if the text after a value describes it and leaves it unchanged. */
const isRemark = (tail: string, head: string): boolean => {
  if (tail.length > maxRemark || /[\\?^]/.test(tail) || Wording.isDoubtful(tail)) return false
  const bare = tail.replace(/^[\s,;:(–—-]+/, "").replace(/(?:below|above) zero/i, "cold")
  const [, digits] = /(?<![\d.,])(\d[\d,]*)(?=\D*$)/.exec(head) ?? []
  // The number spelled out again: "12 (twelve apples)".
  const isSpelled = digits !== undefined && Spelled.atStart(bare) === digits.replaceAll(",", "")
  const words = isSpelled ? "so many" : bare
  const isBracket = /^\s\([^()]*\)[\s.]*$/.test(tail)
  if (isBracket && calculation.test(words)) return true
  if (clause.test(words)) return true
  if (!/\d/.test(tail))
    return /[a-zA-Z]{2}/.test(words) && !Wording.startsComputing(words) && !(isBracket && Wording.computes(words))
  return (
    isBracket && !Wording.computes(words) && (words.startsWith("=") || (words.match(/[a-zA-Z]{2,}/g) ?? []).length > 1)
  )
}

/** "72, which is less than 100" */
const compared =
  /^,\s(?:which|and\sthat)\sis\s(?:(?:much|far|slightly|still|also)\s)?(?:less|more|fewer|greater|smaller|larger|bigger|higher|lower)\sthan\s([^,;:?]{1,60})$/i
/** "72 rather than 48", "72 (not 48)" */
const contrasted =
  /\s(?:rather\sthan|instead\sof|as\sopposed\sto|\(not)\s(?:\\?[$€£])?-?\d[\d,.]{0,40}(?:\s[a-z]{2,20})?\)?$/i

const withoutRemark = (value: string): string => {
  const contrast = value.search(contrasted)
  if (contrast > 0 && /\d/.test(value.slice(0, contrast))) return value.slice(0, contrast)
  let starts = 0
  for (const { index } of value.matchAll(remarkStart)) {
    if (++starts > maxStarts) break
    const head = value.slice(0, index)
    const tail = value.slice(index)
    const other = compared.exec(tail)?.[1]
    const isComparison = other !== undefined && !Wording.isDoubtful(other)
    if (/[\d\\]/.test(head) && (isComparison || isRemark(tail, head))) return head
  }
  return value
}

const leads =
  /^(?:(?:then|thus|therefore|hence|simply|just|exactly|precisely|indeed|clearly|obviously|equal to|given by|approximately|approx\.?)[\s,:]+){1,3}/i

/** "5 apples + 7 pears = 12 fruits" */
const isCounted = /^[^=\\]{0,200}\d\s[a-zA-Z]{4,20}\s[^=\\]{0,200}=\s?[$€£]?-?\d[^=]{0,60}$/

/** The value stated after "the answer is"; an empty text if none or several. */
export const valueOf = (said: string): string => {
  const statement = Spelled.withoutWords(said.replace(leads, ""))
    .replace(/^(?:minus|negative)\s+(?=[\d.])/i, "-")
    .replace(/\s[:;]-?[)D]$/, "")
  const value = withoutRemark(statement)
  const beforeNumber = /^[^\d\\]*/.exec(value)?.[0] ?? ""
  const named = beforeNumber.slice(Math.max(beforeNumber.lastIndexOf("="), beforeNumber.lastIndexOf("(")) + 1)
  const isSentence = beforeNumber.length < value.length && hasWord(named) && /[a-zA-Z]\s/.test(named)
  return isSentence || isProse(value) || isCounted.test(value) ? onlyNumber(value) : value
}
