/**
 * Decides if a box is only one of several cases: "it would be \boxed{5} if the coin were fair", "\boxed{5} if n is even
 * and 6 otherwise", "\boxed{6}, and in the other case \boxed{5}", "Method 1: \boxed{5} Method 2: \boxed{6}". Linear.
 */
import type { Found } from "./Formulas.ts"
import * as Wording from "./Wording.ts"

const gap = String.raw`(?:[\s*_$)\]}.]|\\[)\]])*`
/** Directly after the box, up to the end of its sentence. */
const unless = new RegExp(String.raw`^${gap},?\s?unless(?![a-zA-Z])`, "i")
const otherwise = new RegExp(
  String.raw`^${gap},?\s?(?:if|when|for)(?![a-zA-Z])(?:[^.!?\n]|\.\d){1,120}(?<![a-zA-Z])(?:otherwise|else|(?:and|but|or)?\s?-?\$?\d[\d.]{0,20}\$?\s(?:if|when))(?![a-zA-Z])`,
  "i"
)
const hypothetical = new RegExp(
  String.raw`^${gap},?\s?if\s(?:[^.!?\n]{1,80}\s)?(?:were|was|had|could)(?![a-zA-Z])`,
  "i"
)
/** "If the coin were fair, the answer would be \boxed{5}"; "the total would be" may be what the problem asks for. */
const contraryBefore =
  /(?<![a-zA-Z])(?:if|suppose|supposing)\s(?!there\s)[^.!?\n]{1,120}(?<![a-zA-Z])(?:were|was)(?![a-zA-Z])(?!\sto\s)[^.!?\n]{1,80},\s(?:then\s)?(?:the|my)\s(?:(?:final|correct)\s)?answer\swould\s(?:then\s|instead\s|have\s)?be(?:en)?[\s$*:([]{0,9}$/i
const wouldBe = /(?<![a-zA-Z])would\sbe[\s$*:([]{0,9}$/i
/** Before the box, in its sentence. */
const oneCase =
  /(?:^|[.!?;,\n]\s{0,3})(?:(?:and|or|but)\s)?(?:alternatively|otherwise|(?:(?:in|for)\s)?the\s(?:other|second|alternative)\s(?:case|possibility|interpretation|reading)|\*{0,2}(?:case|method|approach|interpretation|possibility|scenario|option)\s(?:\d|[ivx]{1,3}|[a-e])\*{0,2})[\s:,*]{1,5}(?:[^.!?\n]{0,60})?$/i
const refused =
  /(?<![a-zA-Z])(?:reject(?:ed|s)?|extraneous|invalid|impossible|discard(?:ed)?|contradict(?:s|ion)|not|cannot|wrong|incorrect|n['’]t|no|again|same)(?![a-zA-Z])/i

/** True if the words before a value state it for a case that is contrary to fact. */
export const isContraryBefore = (before: string): boolean => contraryBefore.test(before)

/** True if words after or before the box make it depend on a condition. */
export const isConditional = (text: string, { end, start }: Found): boolean => {
  const [before, after] = [text.slice(Math.max(0, start - 60), start), text.slice(end, end + 240)]
  return (
    unless.test(after) ||
    otherwise.test(after) ||
    (wouldBe.test(before) && hypothetical.test(after)) ||
    isContraryBefore(text.slice(Math.max(0, start - 260), start))
  )
}

/** The answer of another case, in a box before this one; undefined if none, or if the text refuses it. */
export const otherCase = (text: string, boxes: ReadonlyArray<Found>, { start }: Found): string | undefined => {
  const other = boxes.findLast(({ end }) => end <= start)
  if (other === undefined || !oneCase.test(text.slice(Math.max(other.end, start - 200), start))) return undefined
  if (Wording.isDeniedBy(text.slice(Math.max(0, other.start - 200), other.start))) return undefined
  return refused.test(text.slice(other.end, Math.min(start, other.end + 200))) ? undefined : other.answer
}
