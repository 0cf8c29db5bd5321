/**
 * Handles the integers that a general solution depends on: in "x = \pi + 2k\pi, k \in \mathbb{Z}" the remark may be
 * missing in one answer, and its letter may be another one if both answers have it. Linear in the text.
 */

const gap = String.raw`(?:\s|~|\\[,;: ]|\\q?quad(?![a-zA-Z])|\$){0,8}`
const intro = String.raw`(?:\\text\s?\{\s{0,3},?\s{0,3}(?:where|for|with)(?:\s(?:all|any))?\s{0,3}\}|(?:where|for|with)(?:\s(?:all|any))?(?=\s))?`
const integers = String.raw`(?:(?:\\in(?![a-zA-Z])|∈)${gap}(?:\\mathbb\s?\{?\s?Z\s?\}?|ℤ|Z|\\Z)|(?:\\text\s?\{\s{0,3})?(?:is|any|is any|is an|an)\s{0,3}(?:integer)\s{0,3}\}?)`
const remark = new RegExp(String.raw`${gap}[,;(]?${gap}${intro}${gap}\(?([a-zA-Z])${gap}${integers}${gap}\)?${gap}\.?$`)

interface General {
  readonly answer: string
  readonly letter: string | undefined
}

/** Max characters of an answer, and of its remark. */
const maxLength = 400

const read = (answer: string): General => {
  const [tail, letter] = answer.length > maxLength ? [] : (remark.exec(answer) ?? [])
  const rest = tail === undefined ? answer : answer.slice(0, -tail.length)
  const isUsed = letter !== undefined && new RegExp(`(?<![a-zA-Z\\\\])${letter}(?![a-zA-Z])|\\d${letter}`).test(rest)
  return isUsed ? { answer: rest, letter } : { answer, letter: undefined }
}

/** Both answers without their remark, with the same letter if both have one. */
export const without = (gold: string, prediction: string): readonly [gold: string, prediction: string] => {
  const [a, b] = [read(gold), read(prediction)]
  if (a.letter === undefined || b.letter === undefined || a.letter === b.letter) return [a.answer, b.answer]
  const renamed = b.answer.replaceAll(new RegExp(`(?<![a-zA-Z\\\\])${b.letter}(?![a-zA-Z])`, "g"), a.letter)
  return [a.answer, b.answer.includes(a.letter) ? b.answer : renamed]
}
