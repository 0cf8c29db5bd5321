/**
 * Classifies words by their effect on an adjacent value: they deny it, leave it open, or compute another value from it.
 * "not 5", "maybe 5" and "5 squared" do not state 5, whatever unit, name or announcement the words may resemble.
 *
 * Lists of closed word classes and words of arithmetic; other nouns are not included, so that counted things stay units
 * and quantities keep their names. Linear in the text.
 */

/** Denies something. */
const refusals =
  "not|never|neither|nor|cannot|isnt|arent|wasnt|doesnt|cant|wrong|wrongly|false|falsely|incorrect|incorrectly|untrue|mistaken|" +
  "unequal|unlikely|nicht|kein|keine|pas|jamais|nunca|deny|denies|doubt|doubts|doubtful|refutes?|disproves?|contrary"
/** Excludes something, or states that it is different. */
const exclusions =
  "no|non|none|nothing|nobody|without|except|excepting|excluding|anything|invalid|impossible|hardly|scarcely|differs?|different|" +
  "unlike|opposite|instead|rather|else|fails?"
/** One of several, approximate, or a bound. */
const doubts =
  "maybe|perhaps|possibly|probably|presumably|potentially|likely|seemingly|supposedly|allegedly|either|or|if|" +
  "unless|whether|unsure|uncertain|unclear|guess|guesses|versus|vs|than|least|most|less|fewer|between|beyond|exceeds?|almost|nearly|" +
  "approaches|approaching|ambiguous|unknown|undefined|undetermined|unspecified"
/** Possible with an answer that is not announced as one: "it may be 18". */
const modals = "might|may|could|would"
/** Other words that join or select. */
const joints =
  "and|but|any|about|around|approx|approximately|roughly|circa|estimated|think|believe|suppose|assume|assuming|hope|hopefully|seems?|" +
  "apparently|etc|others"
/** Words that compute. */
const changes =
  "hal(?:f|ves)|thirds?|quarters?|fourths?|fifths?|sixths?|sevenths?|eighths?|ninths?|tenths?|hundredths?|thousandths?|millionths?|" +
  "squared|cubed|factorial|times|plus|minus|negative|point|mod|modulo|base|binary|octal|hex|hexadecimal|roots?|double|twice|triple|" +
  "thrice|reciprocal|inverse|power|divided|multiplied|choose|mille|permille|hundreds?|thousands?|" +
  "millions?|billions?|trillions?|bill[oó]n(?:es)?|bilh(?:ão|ões)|docenas?|dutzend|douzaines?|lakhs?|crores?|dozens?|logarithm|logs?|ln|sine?|cos|cosine|tan|tangent|pi|tau|infinity|" +
  "infinite|bn|mn|mio|mil|conjugate|transposed?|prime|zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|" +
  "thirteen|fifteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"

/** Words of place that compute with the following text: "5 over 6", "1 more than". */
const places = "(?:over|under|below|above)(?=\\s+[\\d$\\\\])|more(?=\\s+than)"

/** A sentence attributed to another speaker, or hypothetical. */
const distance = "suppose|supposing|assume|assuming|claims?|claimed|pretend|imagine|who|whoever|says?|said|wonder"
/** A number that is only compared with, or a part of something. */
const relations = "from|to|near|close|far|like|besides?|off|square|multiple|divisible|divisor|factor|range|everything"

const wordsOf = (...lists: ReadonlyArray<string>) =>
  new RegExp(`(?<![a-zA-Z\\\\])(?:${lists.join("|")})(?![a-zA-Z])|n['’]t(?![a-zA-Z])`, "gi")

/** True if one of the words occurs; `NO` and `IF` are points of geometry, `May` is a month. */
const has = (text: string, words: RegExp): boolean =>
  [...text.matchAll(words)].some(
    ({ 0: word, index }) => !/^[A-Z]{1,2}$/.test(word) && !(word === "May" && !/^\s+be\b/.test(text.slice(index + 3)))
  )

const refusal = wordsOf(refusals)
const several = wordsOf(refusals, doubts, "anything|except|rather|instead|different|opposite")
const modal = wordsOf(modals)
const open = wordsOf(refusals, exclusions, doubts, modals, joints)
const change = wordsOf(changes, places)
const computing = wordsOf(changes)
const borrowed = wordsOf(distance)
const related = wordsOf(relations)
const negation = /\\(?:not|neg|lnot|notin|nexists)(?![a-zA-Z])/

/**
 * True if something is denied: in words, or by `
 * ot` and the like if it is not part of a relation.
 */
export const denies = (text: string): boolean => has(text, refusal) || negation.test(text)

/** True if words deny a value, or make it one of several or a bound. */
export const isOneOfSeveral = (text: string): boolean => denies(text) || has(text, several)

/** True if a sentence denies its value or leaves it open. */
export const isDoubtful = (text: string): boolean => isOneOfSeveral(text) || has(text, modal)

/** True if words leave a value unchanged, like a unit or a name: they neither deny nor select nor compute. */
export const isNeutral = (text: string): boolean => !has(text, open) && !has(text, change) && !negation.test(text)

/** True if words compute with a value, anywhere or directly at their start. */
export const computes = (text: string): boolean => has(text, computing)
export const startsComputing = (text: string): boolean => has(text.slice(0, changeReach), computing)

/** Max characters between a value and a word that computes with it. */
const changeReach = 20

/** True if the text before "the answer is" invalidates it: "suppose", "some say", "I doubt". */
export const isBorrowed = (text: string): boolean => isDoubtful(text) || has(text, borrowed)

/** True if a number in prose is the stated value: nothing around it computes, excludes or compares. */
export const isValueBetween = (before: string, after: string): boolean =>
  isNeutral(before) && !has(before, related) && !has(after.slice(0, changeReach), change) && !isDoubtful(before + after)

/** A value restarts after these: the end of a sentence or clause, "but", "so", "is", "=". */
const clauseEnd =
  /[.,;:!?\n=]|(?<![a-zA-Z])(?:but|so|hence|thus|therefore|then|because|since|is|are|it's|that's|giv(?:es?|ing)|gets?|yield(?:s|ing)|leav(?:es|ing))(?![a-zA-Z'’])/gi

/** Max characters that are read backwards. */
const reach = 200

/** The text before a value in its clause. */
export const clauseBefore = (before: string): string => {
  const near = before.slice(-reach)
  const last = [...near.matchAll(clauseEnd)].at(-1)
  return last === undefined ? near : near.slice(last.index + last[0].length)
}

/** "It is false that x = 5". */
const refusedClaim =
  /(?<![a-zA-Z])(?:(?:false|untrue|incorrect|wrong|not\s+(?:true|correct|right))\s+(?:that|to\s+(?:say|claim|think|conclude|assume))|can(?:not|\snot|['’]?t)\s+be\s+that|(?:there\s+is|there['’]s)\s+no\s+way|(?:i|we)\s+doubt|impossible\s+(?:that|for)|(?:do|does|did)(?:\s?n['’]?t|\s+not)\s+(?:think|believe|agree)|not\s+(?:convinced|sure|certain))(?![a-zA-Z])(?:(?!\s(?:but|so|hence|thus|therefore)\s)[^,.!?;\n])*$/i
/** "A common wrong answer is 5", "we can rule out 5". */
const refusedValue =
  /(?:(?<![a-zA-Z])(?:anything\s+but|instead\s+of|as\s+opposed\s+to|hardly|scarcely|(?:rul(?:e|es|ed|ing)|cross(?:es|ed|ing)?)\s+out|mistake\s+(?:is\s+|would\s+be\s+)?to\s+[a-z]{2,20})|(?:^|[.!?:;,\n*]\s{0,3}|(?<![a-z])(?:but|and|so)\s)(?:an?|the|one|another|my)\s(?:[a-z]{3,12}\s)?(?:wrong|incorrect|mistaken|false)\s(?:answer|value|result|solution|guess|choice)\s(?:is|was|would\sbe))[\s$*:([]{1,9}$/i
const refusedRelation = /(?:\\neq?|\\not\s{0,9}=|!=|≠|<>)[\s$\\([{]{0,20}$/

/**
 * True if the words or the sign directly before a value deny it: "is certainly not equal to", `
 * eq`.
 */
export const isDeniedBy = (before: string): boolean =>
  denies(clauseBefore(before)) ||
  [refusedRelation, refusedClaim, refusedValue].some((one) => one.test(before.slice(-reach)))
