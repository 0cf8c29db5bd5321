/** Reads ordinals as their numbers: "98th", "the 98th day", `98^{\text{th}}` are 98. Linear in the text. */
import * as Wording from "../text/Wording.ts"

const ordinal =
  /^[\s$]{0,6}(?:the\s{1,3})?\$?(\d{1,3}(?:,\d{3}){1,6}|\d{1,20})\$?\s{0,3}(?:\^\s?\{?\s?)?(?:\\(?:text|textrm|mathrm|rm|mbox)\s?\{\s{0,3})?(?:st|nd|rd|th)(?![a-zA-Z])\s?\}?\s?\}?\$?(?:\s{1,3}([a-z]{3,20})\s{0,3}\}?)?[\s$]{0,6}\.?$/
const inText = /^\s{0,6}\\(?:text|textbf|mathrm)\s?\{([^{}]{1,60})\}\s{0,6}$/
/** "The 5th percentile" and "a 5th part" are no places. */
const others = /^(?:percentile|quantile|decile|part|derivative|degree|order|harmonic|share)s?$/

/** The number of an ordinal, perhaps with what is counted; any other answer as it is. */
export const withoutEnding = (answer: string): string => {
  const [, number, noun = ""] = answer.length > 100 ? [] : (ordinal.exec(inText.exec(answer)?.[1] ?? answer) ?? [])
  return number === undefined || others.test(noun) || !Wording.isNeutral(noun) ? answer : number
}
