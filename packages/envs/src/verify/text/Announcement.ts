/** Finds the answer that a text announces: "the final answer is …", `#### …`. Linear in the text. */
import * as Condition from "./Condition.ts"
import * as Formulas from "./Formulas.ts"
import * as Prose from "./Prose.ts"
import * as Retraction from "./Retraction.ts"
import * as Tongues from "./Tongues.ts"
import * as Wording from "./Wording.ts"

const anchors =
  /\b(?:final answer|answer)s?\b(?:\s+(?:to|for|after|we\s(?:get|have|found|find|obtain|seek)|i\s(?:get|got|have|found))(?![a-zA-Z])[^.\n:]{0,80}|\s\([a-z ]{1,40}\)|,\s(?:then|therefore|thus|hence|of\scourse),)?[\s*]{0,8}(?:(?:is|are)(?:n['’]t)?(?![a-zA-Z])|(?:(?:must|should|would|will|has to|turns out to|comes out to) be|equals|is equal to|comes (?:out )?to)(?=[\s$*]{1,6}(?:\\?[$€£])?[-\d\\])|:|=>|->|→|⇒|=|(?:—|–|--?)(?=[\s$*]{1,6}(?:\\?[$€£])?(?:-?\d|\\[a-z(])))\s?:?|(?:^|\n)[ \t]{0,3}(?:#{1,6}[ \t]{1,3}|\*\*|__)(?:the |my )?(?:final )?answer:?(?:\*\*|__)?:?[ \t]{0,3}(?=\n)|(?:^|\n)[ \t]{0,3}(?:the |my )?(?:final )?answer:?[ \t]{0,3}(?=\n)|(?:^|\n)[ \t]{0,8}####/gi

/**
 * A sentence: up to a period before space or the end of the text, a line break, or an exclamation mark that is not a
 * factorial in a calculation. The periods of "a.m." and "i.e." do not end it.
 */
const sentence =
  /^(?:(?<![a-zA-Z])(?:[ap]\.\s?m|i\.e|e\.g|vs|approx|ca|sq|cu|mrs?|ms|dr|rs|st|no)\.|[^\n.!]|\.(?=\d|\\(?:overline|bar|dot)(?![a-zA-Z]))|!(?=[ \t]{0,3}(?:[=+*/^<>)\]}$\\\d]|-[ \t]?[\d\\$(])))*/i

const withoutMarkup = (text: string): string =>
  text
    .replaceAll(/\*\*|<\/?(?:b|i|em|strong|u|mark|span)>|\p{Extended_Pictographic}\ufe0f?/gu, "")
    .replace(/^["'“‘\s:`*_]+/, "")
    .replace(/(?<!["'”’\s`*_])["'”’\s`*_]+$/, "")

/** "This answer is correct." announces nothing. */
const remark =
  /^[\s*]*(?:indeed |also |clearly |therefore |thus |now )?(?:correct|right|verified|confirmed|checked|complete|consistent|reasonable|valid|exact|unique|final|above|below|boxed|shown|found|as)(?![a-zA-Z])[^\d$\\]*$/i

/** "The answer is on page 5" states a location, `#### Step 4` is a heading. */
const place =
  /^[\s*]*(?:step|part|case|question|problem|example|section|chapter|method|exercise|solution|approach|phase|task|stage)\s*\d[^=$]*$|^[\s*]*(?:(?:given|shown|found|stated|derived|obtained|written|explained|described)\s+)?(?:in|on|at|by|from)\s+(?:the\s+)?(?:step|page|equation|eq|figure|fig|table|section|part|line|chapter|example|case|paragraph|problem|question|exercise|appendix|diagram|column|row)s?\.?\s*\(?\$?\d[^=]*$/i

interface Announcement {
  readonly before: string
  readonly announcing: string
  readonly stated: string
  readonly end: number
}

const announcement = (text: string, match: RegExpMatchArray): Announcement => {
  const at = match.index ?? 0
  const start = at + match[0].length
  const near = text.slice(start, start + 2_100)
  const lead = /^(?:\s|\*\*|__)*/.exec(near)?.[0].length ?? 0
  const display = /^(?:\*\*|\s)*(?:\$\$|\\\[)/.test(near)
  const rest = near.slice(lead, lead + 2_000)
  const stated = display
    ? (/^(?:\*\*|\s)*(\$\$[^$]*\$\$|\\\[[^]*?\\\])/.exec(rest)?.[1] ?? rest)
    : (sentence.exec(rest)?.[0] ?? "")
  const end = start + lead + stated.length
  return { before: text.slice(Math.max(0, at - 200), at), announcing: match[0], stated, end }
}

const copula = /\b(?:is|are|equals)\b/gi

/** Tests if a position is outside of the text's last formula `$…$`. */
const outsideFormula = (text: string): ((at: number) => boolean) => {
  const close = text.lastIndexOf("$")
  const open = close <= 0 ? -1 : text.lastIndexOf("$", close - 1)
  return (at) => at < open || at > close
}

/** The text after the last "is" of a sentence that is followed by something with a value, else all of it. */
const predicate = (stated: string): string => {
  if (Prose.beginsWithValue(stated)) return stated
  let lastValue = stated.length - 1
  while (lastValue >= 0 && !/[\d$\\]/.test(stated[lastValue]!)) lastValue--
  const isOutside = outsideFormula(stated)
  const last = [...stated.matchAll(copula)].findLast(({ index }) => index < lastValue && isOutside(index))
  if (last === undefined && lastValue >= 0) return stated
  const statement = stated.slice(last?.index ?? 0)
  const isOutsideThere = outsideFormula(statement)
  return statement.replaceAll(copula, (word, at: number) => (isOutsideThere(at) ? "" : word))
}

/** "not 60 but 45": the other number is denied. */
const contrasted = /^\s*not\s(?:\\?[$€£]\s?)?-?\d[\d,.]{0,40}(?:\s[a-z]{2,20})?,?\sbut\s(?:rather\s|instead\s)?/i
/** "45 miles, not 60": the other number is denied. */
const contrast = /,\s(?:and\s)?not\s(?:\\?[$€£]\s?)?-?\d[\d,.]{0,40}(?:\s[a-z]{2,20})?[\s*_]{0,10}$/i

/** `0.666...`: these dots are part of the number, and end no sentence. */
const repeating = /(\.\d{0,40}?(?:([1-9])\2\2|(?!0+\.)(\d{2,20})\3))\.\.\./g

const maxRemarks = 20

/**
 * The formula or number of the last sentence with "the answer is"; an empty text if the sentence denies it, leaves it
 * open or takes it back.
 */
export const last = (whole: string): string | undefined => {
  const text = Tongues.withAnnouncements(whole).replaceAll(repeating, "$1…")
  const matches = [...text.matchAll(anchors)]
  let said: Announcement | undefined
  for (let i = matches.length - 1; i >= Math.max(0, matches.length - maxRemarks); i--) {
    said = announcement(text, matches[i]!)
    if (!remark.test(said.stated) && !place.test(said.stated)) break
  }
  if (said === undefined || place.test(said.stated)) return undefined
  const { announcing, before, end } = said
  const bare = Prose.withoutReason(said.stated.replace(contrasted, ""))
  const stated = Prose.beginsWithValue(bare) ? bare.replace(contrast, "") : bare
  const isCrossed = /[❌✗✘✖🚫][\s*_.]{0,9}$/u.test(said.stated)
  const isGuess = /(?<![a-z])guess[:,]?\s{0,9}(?:the\s)?$/i.test(before)
  if (isCrossed || isGuess || /^[\s*]*[~∼]\s?\d/.test(stated) || Wording.denies(`${announcing} ${stated}`)) return ""
  if (Wording.isBorrowed(Wording.clauseBefore(before)) || Condition.isContraryBefore(before + announcing)) return ""
  // "Final answer: the largest $n$ is 34": the value is the predicate.
  const predicated = withoutMarkup(predicate(stated))
  // "(Answer: 12)", but `[0,1)`
  const value = /[([]/.test(predicated) ? predicated : predicated.replace(/\)$/, "")
  const isFormula = Formulas.all(value).length > 0
  if (isFormula && Formulas.areAlternatives(value, Wording.isDoubtful)) return ""
  const answer = isFormula ? Formulas.lastJoined(value) : Prose.valueOf(value)
  return answer !== undefined && Retraction.follows(text.slice(end), answer) ? "" : answer
}
