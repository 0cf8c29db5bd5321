/**
 * Removes what is counted or measured in other languages behind a number, `5个`, `5\text{ яблок}`, "5 Äpfel", if the
 * other answer has no unit: like a unit in English, it may be missing. Linear in the text.
 */
import * as Tongues from "../text/Tongues.ts"
import * as Wording from "../text/Wording.ts"

const words = String.raw`((?:[\p{L}\p{M}]{1,20}[\s.²³]{0,2}){1,3})`
const counted = new RegExp(
  String.raw`(?<=[\d})]\$?)(?:\s|~|\\[,;: ]){0,3}(?:\\(?:text|mathrm|mbox)\s?\{\s{0,3})?[（(]?${words}[)）]?\s{0,3}\}?[\s$]{0,3}[.。]?$`,
  "u"
)
const inText = /^[\s$]{0,3}\\(?:text|mathrm|mbox)\s?\{\s{0,3}(-?\d[\d.,]{0,40}[\p{L}\p{M}\s]{1,40})\}[\s$]{0,3}$/u
const hasWord = /[a-zA-Z]{2}|\\text|[^\p{ASCII}]/u
/** What is counted in Chinese, Japanese and Korean, where words of hedging look the same. */
const eastern =
  /^(?:[个個只隻人名位本冊册枚匹頭头张張条件次回天日年月周週分秒米克吨升度岁歳页頁棵朵杯瓶盒箱辆台支根双套份种種组对项层題题]|小[时時]|時間|分[钟鐘]|(?:平方|立方)?(?:厘米|公分|毫米|分米|米|千米|公里)|千克|公斤|毫升|개|명|권|마리|시간|분|초|일|년|살|도|장|대|번|회|잔|병|미터|센티미터|킬로미터)$/u
const isEastern = /[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}]/u
/** Greek letters are names, and a number word may differ between countries. */
const refused = /\p{Script=Greek}|^(?:bilh|trilh|тыс|млн|млрд|мил|бил|трил|nghìn|triệu|tỷ)/iu

const isUnit = (name: string): boolean => {
  if (isEastern.test(name)) return eastern.test(name)
  const isKnown = Tongues.inEnglish(`5 ${name} 5`) === `5 ${name} 5`
  return /[^\p{ASCII}]/u.test(name) && name.length > 1 && !refused.test(name) && isKnown && Wording.isNeutral(name)
}

/** Max characters of an answer. */
const maxLength = 200

/** The answer without such a unit, if the other one has no words. */
export const without = (answer: string, other: string): string => {
  if (answer.length > maxLength || !/[^\p{ASCII}]/u.test(answer) || hasWord.test(other.replaceAll(/\\[a-zA-Z]+/g, " ")))
    return answer
  const plain = inText.exec(answer)?.[1] ?? answer
  const found = counted.exec(plain)
  const name = found?.[1]?.trim() ?? ""
  return found !== null && isUnit(name) ? plain.slice(0, found.index) : answer
}
