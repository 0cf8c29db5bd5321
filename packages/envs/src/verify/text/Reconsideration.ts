/**
 * Finds the value that a text concludes after it has reopened its answer: 26 of "Let me reconsider. The total is 26."
 *
 * A check ("Let me verify: 12 + 12 = 24") reopens nothing. Of several results the last counts, so that a text which
 * returns to its answer keeps it. Linear in the text.
 */
const again =
  "reconsider|recompute|recalculate|rethink|redo|re-?work|re-?solve|re-?evaluate|re-?examine|recount|revise|correct\\s+(?:this|that|it|my|myself|the)|fix\\s+(?:this|that|it|my|the)|try\\s+(?:again|this\\s+again|another)|start\\s+over|(?:do|solve|count|compute|calculate|work)\\s+(?:it|this|that)\\s+(?:again|over|properly|correctly|more\\s+carefully)|(?:go|look)\\s+(?:back\\s+)?over\\s+(?:this|it)\\s+again"
const reopening = new RegExp(
  `(?<![a-zA-Z])(?:(?:let\\s+me|let['’]?s|let\\s+us|i\\s+(?:need|have|want|should|must|had\\s+better|will)(?:\\s+to)?|i['’]ll|i['’]d\\s+better|we\\s+(?:need|have|should|must)(?:\\s+to)?|allow\\s+me\\s+to|(?:on|upon|after)\\s+(?:further\\s+|second\\s+)?)\\s*(?:carefully\\s+|quickly\\s+|just\\s+)?(?:${again})|(?:on|upon|after|with)\\s+(?:further\\s+|closer\\s+|a\\s+second\\s+|more\\s+careful\\s+)?(?:reconsider(?:ing|ation)|reflection|recomput(?:ing|ation)|recalculat(?:ing|ion)|recounting|review(?:ing)?|re-?reading|re-?checking|inspection|a\\s+second\\s+(?:look|thought))|(?:^|[.!?\\n]\\s{0,3})(?:re(?:considering|computing|calculating|counting|doing|thinking)))(?![a-zA-Z])`,
  "i"
)

/** A number, fraction or root in a place where results are. */
const result =
  /(?:=|≈|(?<![a-zA-Z])(?:is|are|be|was|were|get|gets|got|gives?|equals?|equal to|yields?|have|has|find|obtain|makes?|totals?|leaves?|answer:|total:|result:|:|es|est|ist|sind|beträgt|é|è|то|равно|это)|[是为為=は]|共有)[\s$*{([]{0,6}(?:(?:actually|really|now|instead|exactly|indeed|then|a total of|in fact)[\s$*]{1,4}){0,2}(?:\\?[$€£])?\s?(?:[a-z]\s?=\s?)?(-?(?:\\(?:d|t)?frac\s?\{[^{}]{1,30}\}\s?\{[^{}]{1,30}\}|\d[\d,]*(?:\.\d+)?(?:\/\d+)?))(?!\d|\.\d|\s?(?:[+×·*/^÷]|-\s?\d|\\(?:times|cdot|div|pm))|[a-z]?\))/gi
/** A sentence that is only a number. */
const bare = /(?:^|[.:!?\n]\s{1,3})[$*\s]{0,4}(-?\d[\d,]*(?:\.\d+)?)(?:\s[a-z]{2,15})?[\s*$.!]*$/i

/** The last value after the text reopens its answer; undefined if it does not, or states none. */
export const conclusion = (after: string): string | undefined => {
  const at = reopening.exec(after)
  if (at === null) return undefined
  const rest = after.slice(at.index + at[0].length).trimEnd()
  return bare.exec(rest)?.[1] ?? [...rest.matchAll(result)].at(-1)?.[1]
}

interface Ratio {
  readonly above: bigint
  readonly below: bigint
}

/** The value of a number or fraction, possibly with a name or a unit; undefined for anything else. */
const valueOf = (written: string): Ratio | undefined => {
  const plain = written
    .replaceAll(/\\(?:text|mathrm)[a-z]{0,2}\s?\{[^{}]*\}|[\s$,€£]|\\(?=[$%,;! ])/g, "")
    .replace(/^[a-zA-Z]=/, "")
    .replace(/(?:[a-zA-Z]{1,15}|%|°)$/, "")
    .replace(/^(-?)\\[dt]?frac\{(\d{1,30})\}\{(\d{1,30})\}$/, "$1$2/$3")
  const [match, sign = "", whole = "", places = "", below = "1"] =
    /^(-?)(\d{0,400})(?:\.(\d{0,400}))?(?:\/(\d{1,400}))?$/.exec(plain) ?? []
  return match === undefined || whole + places === ""
    ? undefined
    : { above: BigInt(whole + places) * (sign === "" ? 1n : -1n), below: BigInt(below) * 10n ** BigInt(places.length) }
}

/** True if two values are known to differ. */
export const differs = (concluded: string, answer: string): boolean => {
  const [a, b] = [valueOf(concluded), valueOf(answer)]
  return a !== undefined && b !== undefined && a.above * b.below !== b.above * a.below
}
