/**
 * Constrains the language of an answer, detected by letter trigrams (franc).
 *
 * A short text is ambiguous: below 100 letters a language passes if it comes within 5% of the most likely one, beyond
 * that it must be the most likely. Longer paragraphs are also checked one by one, to detect answers that are half in
 * another language.
 */
import { Schema } from "effect"
import { checker } from "./Constraint.ts"
import * as Counting from "./Counting.ts"

/** ISO 639-1, as in rows, and franc's ISO 639-3 codes for it. */
const codes: ReadonlyMap<string, string> = new Map(
  (
    "ar:arb bg:bul bn:ben cs:ces de:deu el:ell en:eng es:spa fr:fra gu:guj hi:hin hr:hrv hu:hun id:ind it:ita ja:jpn kn:kan ko:kor ml:mal " +
    "mr:mar ne:npi nl:nld pa:pan pl:pol pt:por ro:ron ru:rus so:som sw:swh sv:swe ta:tam te:tel th:tha tl:tgl tr:tur uk:ukr ur:urd vi:vie " +
    "zh:cmn zh-cn:cmn zh-tw:cmn"
  )
    .split(" ")
    .map((pair) => pair.split(":") as [string, string])
)

const languages = Array.from(new Set(codes.values()))
const names = new Intl.DisplayNames("en", { type: "language" })

const Language = Schema.String.check(
  Schema.makeFilter(
    (code: string) =>
      codes.has(code.toLowerCase()) ||
      `cannot detect the language ${JSON.stringify(code)}; supported: ${Array.from(codes.keys()).join(", ")}`
  )
)

type Ranking = (
  text: string,
  options: { only: Array<string>; minLength: number }
) => ReadonlyArray<readonly [string, number]>

const shortText = 100
const closeness = 0.95
const letter = /\p{L}/gu

/** `rank`: franc's `francAll`, passed in so that it is loaded only if needed. */
export const language = (rank: Ranking) => {
  const isIn = (text: string, code: string): boolean => {
    const likely = rank(text, { only: languages, minLength: 3 })
    const [best] = likely
    if (best?.[0] === code) return true
    const score = likely.find(([one]) => one === code)?.[1] ?? 0
    return (text.match(letter)?.length ?? 0) < shortText && score >= closeness
  }
  return checker(
    "validate_response_language",
    { language: Language },
    {
      instruction: ({ language: code }) =>
        `Write your whole answer in ${names.of(code) ?? code} and in no other language.`,
      isMet: (text, { language: code }) => {
        const target = codes.get(code.toLowerCase()) ?? code
        const long = Counting.paragraphs(text).filter((part) => part.length >= 2 * shortText)
        return [text, ...long].every((part) => isIn(part, target))
      }
    }
  )
}
