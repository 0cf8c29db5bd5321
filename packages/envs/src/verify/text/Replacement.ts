/**
 * Finds values that a sentence after an answer puts in its place: offered ones ("it could also be 25"), and, after a
 * correcting word, results ("the total is 26", "I should subtract 2, giving 22", "22 is the real answer").
 */
const offer =
  /^[\s(]*(?:(?:(?:but|and|though|although|however)[\s,]+)?(?:(?:it|this|that|the\s+answer|which)\s)?(?:could|might|may)\s(?:(?:also|well|just|as|equally|possibly|actually|instead)\s){0,4}be|(?:alternatively|possibly|perhaps|maybe|or(?:\s(?:maybe|perhaps|possibly|even|else))?)[\s,:]+(?:(?:it|that|the\s+answer)(?:['’]s|\s(?:is|was|could\s+be|might\s+be))\s)?(?:boxed\s)?)\s?(?:\\boxed\{)?([-$\\\d].{0,40})/is
/** "Or is it 25?", without an answer that denies it. */
const question =
  /(?:^|[.!?…]\s{0,3}|\n)or\s(?:is|was|could|might|should)\s(?:it|that|the\sanswer)\s(?:(?:actually|really)\s)?(?:be\s)?(?:\\boxed\{)?([-$\\\d][^?\n]{0,40})\?(?!\s{0,3}(?:no|nope|not|well)(?![a-zA-Z]))/i
/** "I mean 25", "so 25 it is" */
const meant =
  /^(?:i\smean|make\sthat|or\srather)[\s,:]{1,3}([-$\\\d].{0,40})|^(?:(?:so|then|thus)[\s,]{1,3})?(-?[\d.,]{0,40}\d)\sit\sis(?![a-zA-Z])/is
/** "I forgot to add 1, so 25." */
const thenOnly =
  /,\s(?:so|hence|thus|therefore)\s(?:it(?:['’]s|\sis)\s|the\sanswer\s(?:is|must\sbe|should\sbe)\s)?([-$]?\d[\d.,]{0,40}(?:\s[a-z]{2,15})?)[\s*_$.!]*$/i

const total =
  /(?:^|,\s|[;:]\s)(?:(?:so|thus|hence|therefore|and|then|no|that\smeans|this\smeans)[\s,]{1,3}){0,2}the\s(?:(?:final|correct|real|actual|true|right)\s)?(?:total|sum|answer|result)\s(?:is|equals|comes\sto|should\sbe|must\sbe|would\sbe)\s(?:actually\s|really\s)?([-$\\\d].{0,40})/is
const giving =
  /^(?:i|we)\s(?:should|need|must|have|had|forgot).*(?:,\s|\s)(?:giving|which\sgives|leaving|which\sleaves|making|to\sget)\s(?:us\s)?([-$\\\d].{0,40})$/is
const real =
  /(?:^|[\s=])(-?\d[\d,]*(?:\.\d+)?)\sis\s(?:the|my)\s(?:correct|actual|true|real|right|final)\s(?:answer|value|result|total|one)/i

/** A value that is offered in addition. */
export const offered = (text: string): string | undefined => offer.exec(text)?.[1]

/** A value that is asked for at the end, and one that the writer means instead. */
export const asked = (text: string): string | undefined => question.exec(text)?.[1]
export const intended = (sentence: string): string | undefined => {
  const [, value, named] = meant.exec(sentence) ?? []
  return value ?? named
}

/** A value alone at the end of a sentence that admits a slip. */
export const concluded = (sentence: string): string | undefined => thenOnly.exec(sentence)?.[1]

/** Results that a sentence with a correcting word states. */
export const corrections = (sentence: string): ReadonlyArray<string> =>
  [total, giving, real].flatMap((pattern) => pattern.exec(sentence)?.[1] ?? [])
