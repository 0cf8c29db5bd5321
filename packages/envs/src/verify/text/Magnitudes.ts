/**
 * Translates number words of other languages behind a number to English: "2,5 Millionen" is "2,5 million", `5万` is
 * 50000 and `1.2亿` 120000000. Words that differ between countries (billones, bilhões, mil) are kept. Linear in the
 * text.
 */

const western: ReadonlyArray<readonly [words: string, english: string]> = [
  ["tausend|тыс(?:яча|ячи|яч|\\.)?|тисяч[аі]?|duizend|tusen|tysiąc[ey]?|tys\\.|nghìn|ngàn|ribu|हज़ार|हजार", "thousand"],
  [
    "mill[oó]n(?:es)?|millions|milion[ei]|millionen|mio\\.|miljoen|miljone?r|milhões|milhão|milion(?:y|ów)?|milyon|triệu|juta|млн|миллион(?:а|ов)?|мільйон(?:и|ів)?",
    "million"
  ],
  [
    "milliards?|milliarden?|mrd\\.|miliard[ioay]|miliardów|miljard(?:er)?|millardos?|mil\\smillones|milyar|tỷ|млрд|миллиард(?:а|ов)?|мільярд(?:и|ів)?",
    "billion"
  ],
  ["लाख", "lakh"],
  ["करोड़|करोड", "crore"]
]
/** A digit, with decimals behind a comma. */
const number = String.raw`(\d)(?:,(\d{1,2}))?(\$?(?:\s|~|\\[,;: ]){0,3}(?:\\text\s?\{\s{0,3})?)`
const translations = western.map(
  ([words, english]) => [new RegExp(`${number}(?:${words})(?![\\p{L}\\p{M}])`, "giu"), english] as const
)

const powers: { readonly [sign: string]: number } = { 万: 4, 萬: 4, 만: 4, 亿: 8, 億: 8, 억: 8 }
const eastern =
  /(?<![\d.,])(\d{1,12})(?:\.(\d{1,8}))?\s?(?:\\text\s?\{\s?(?=[^{}]{1,10}\}))?([万萬만亿億억])(?!\s?\d|[万萬만亿億억])(\}?)/gu

const candidate =
  /[^\p{ASCII}]|tausend|duizend|tusen|tys|nghi|ribu|mill|milion|mio|miljo|milh|milyon|juta|mrd|miliard|milyar/iu

export const inEnglish = (text: string): string => {
  if (!candidate.test(text)) return text
  const plain = text.replaceAll(eastern, (whole, digits: string, places = "", sign: string, end: string) => {
    const power = powers[sign] ?? 0
    if (places.length > power) return whole
    return `${digits}${places.padEnd(power, "0")}`.replace(/^0+(?=\d)/, "") + (whole.includes("{") ? "" : end)
  })
  return translations.reduce(
    (written, [pattern, english]) =>
      written.replaceAll(
        pattern,
        (_, digit: string, places: string | undefined, gap: string) =>
          `${digit}${places === undefined ? "" : `.${places}`}${gap === "" ? " " : gap}${english}`
      ),
    plain
  )
}
