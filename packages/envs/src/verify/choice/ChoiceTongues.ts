/**
 * Translates announcements of a choice in other languages to English: "答案：A" and "La respuesta correcta es A" become
 * "the answer is A".
 *
 * Covers an answer noun with its qualifiers followed by "is", "is not" or a colon; "I choose"; and, in a text with one
 * of them, words that join, explain, deny or retract. A clause that denies, doubts or supposes before the noun is left
 * unchanged, and is then ignored. A text without announcements is not changed. Linear in the text.
 */

import * as ChoiceVerdicts from "./ChoiceVerdicts.ts"

interface Tongue {
  /** The noun of an answer, with articles and adjectives. */
  readonly answer: string
  readonly is: string
  readonly isNot: string
}

const space = "[ \\t]{0,3}"
const gap = "[ \\t]{1,3}"
const opt = (words: string, after = gap): string => `(?:(?:${words})${after})?`

/** Languages with spaces between words. */
const spaced: ReadonlyArray<Tongue> = [
  // Spanish, Portuguese, Italian, French
  {
    answer:
      opt("por tanto|la|el|una|a|o|il|l['’]|ma|mi|minha|mia") +
      opt("única|bonne|seule|melhor|mejor|miglior") +
      "(?:respuesta|resposta|risposta|réponse|reponse|opción|opcion|opção|opzione|alternativa|letra|gabarito|solución|solution|soluzione)" +
      `(?:${gap}(?:es la )?(?:correcta|correta|corretta|correcte|exacte|juste|giusta|exacta|esatta|certa|final|finale|adecuada))?`,
    is: "es|é|è|est|sería|seria",
    isNot: "no es|não é|nao é|non è|n['’]est pas"
  },
  // German, Dutch, Swedish, Danish, Norwegian
  {
    answer:
      opt("die|meine|unsere|das|het|mijn|de|det|den") +
      opt("richtige|korrekte|beste|endgültige|juiste|correcte|rätta|rette|riktige|rigtige") +
      "(?:antwort|lösung|antwoord|svaret|svar)",
    is: "lautet|ist|is|är|er",
    isNot: "ist nicht|lautet nicht|is niet|är inte|er ikke"
  },
  // Polish, Czech, Turkish, Vietnamese, Indonesian
  {
    answer:
      opt("poprawna|prawidłowa|poprawną|správná|doğru") +
      "(?:odpowiedź|odpowiedzią|odpověď|cevap|yanıt|đáp án|câu trả lời|jawabannya|jawaban)" +
      `(?:${gap}(?:đúng|yang benar|yang tepat))?`,
    is: "to|jest|je|là|adalah|ialah",
    isNot: "to nie|nie jest|není|không phải là|bukan"
  },
  // Greek, Romanian, Hungarian, Finnish, Thai, Persian
  {
    answer:
      opt("η|a|o", gap) +
      opt("σωστή|helyes|oikea") +
      "(?:απάντηση|răspunsul|raspunsul|válasz|vastaus|ค\\u0e4d\\u0e32ตอบ|پاسخ)" +
      `(?:${space}(?:corect|ที่ถูกต้อง|ที่ถูก|صحیح|درست))?`,
    is: "είναι(?: (?:το|η|ο))?|este|on|คือ",
    isNot: "δεν είναι|nu este|nem|ei ole|ไม่ใช่|نیست"
  },
  // Russian, Ukrainian, Arabic, Hebrew, Hindi
  {
    answer:
      opt("правильный|верный|мой|правильна|सही|अंतिम") +
      "(?:ответ|відповідь|و?الخيار|و?الإجابة|الاجابة|الجواب|התשובה|תשובה|उत्तर|जवाब|সঠিক উত্তর)" +
      `(?:${gap}(?:الصحيحة|الصحيح|הנכונה|النهائية|النهائي))?`,
    is: "это|є|هي|هو|היא|है",
    isNot: "не|это не|ليست|ليس|אינה|לא"
  }
]

/** Languages without. */
const joined: Tongue = {
  answer:
    "(?:(?:最终|正确|最佳|标准|正しい|最終)(?:的|な)?)?(?:答案|答え|解答|正解|정답|답|(?<=[确佳](?:的)?)(?:选项|選項)|(?<=正しい)(?:選択肢|もの|の)|(?:옳은|맞는|알맞은|적절한|올바른|정확한)[ \\t]?(?:것|답|선택지|보기|선택))(?:选项|選項|应该|應該|应|應|就)?",
  is: "是|为|為|选|選|は|은|는|이|가",
  isNot: "不是|不为|不選|不选|ではなく|はないは"
}

const colon = "[:=]|[-–—](?=[ \\t])"
/** Possible prefixes of a label: an adverb, an article, a noun for choices. */
const called =
  opt("donc|daher|somit|also|quindi|dunque|portanto|entonces|dus|więc", space) +
  opt("la|el|l['’]|die|der|das|il|het|[ao](?=[ \\t]{1,3}(?:letra|opção|alternativa))", space) +
  opt(
    "opción|opcion|option|opção|letra|lettre|lettera|opzione|alternativa|buchstabe|antwort|réponse|respuesta|вариант|буква|选项|選項|选择|보기",
    space
  )
const marks = "[*_]{0,3}"

const headOf = (answer: string, verb: string, isSpaced: boolean): RegExp =>
  new RegExp(
    `${isSpaced ? "(?<![\\p{L}\\p{N}])" : ""}${answer}${marks}${space}(?:${verb})${marks}${space}${called}(?=[ "'(\\[*_$\\\\]{0,6}[\\p{L}\\d])`,
    "giu"
  )

const word = (words: string): string => `(?:${words.replaceAll(" ", gap)})(?![\\p{L}])`

/** Denials before announcements, because they contain the same words. */
const heads: ReadonlyArray<readonly [pattern: RegExp, english: string]> = [
  ...spaced.flatMap(({ answer, is, isNot }) => [
    [headOf(answer, `${word(isNot)}(?:${space}(?:${colon}))?`, true), "the answer is not "] as const,
    [headOf(answer, `(?:${word(is)})?${space}(?:${colon})|${word(is)}`, true), "the answer is "] as const
  ]),
  [headOf(joined.answer, joined.isNot, false), "the answer is not "],
  [headOf(joined.answer, `(?:${joined.is})${space}(?:${colon})?|${colon}`, false), "the answer is "],
  [
    /(?<!\p{L})(?:elijo|escojo|escolho|scelgo|je choisis|ich wähle|ik kies|wybieram|выбираю|memilih|chọn)[ \t]{1,3}(?:(?:la|el|a|o|l['’]|die|de)[ \t]{0,3})?(?:(?:opción|opção|option|opzione|вариант)[ \t]{0,3})?(?=[("'*]{0,4}[\p{L}\p{N}])/giu,
    "i choose "
  ],
  [
    /(?:故|应该|應該|应|應|因此|所以|我|本题|(?<=^|[.,;:!?\n] ?))(?:选择|選擇|选|選)[ \t:]{0,3}(?=[("'*]{0,4}[A-Z\d甲乙丙丁戊])/gu,
    "i choose "
  ],
  [/(?<=^|[.,;:!?\n] ?)答[ \t]{0,3}:[ \t]{0,3}(?=[("'*]{0,4}[A-Z\d])/gu, "the answer is "],
  [
    /(?<!\p{L})(?:daher|somit|also|folglich|damit|deshalb|demnach|deswegen)[ \t]{1,3}(?:ist|lautet)[ \t]{1,3}die[ \t]{1,3}(?:richtige|korrekte)[ \t]{1,3}antwort[ \t]{0,3}:?[ \t]{0,3}(?=[("'*]{0,4}[A-Z\d])/giu,
    "the answer is "
  ],
  [
    /(?:सही[ \t]{1,3})?(?:उत्तर|जवाब|विकल्प)[ \t]{1,3}(?=\(?[A-Z\d\p{Script=Devanagari}]\)?[ \t]{1,3}है)/gu,
    "the answer is "
  ],
  [/(?:پاسخ|گزینه)[ \t]{1,3}(?:صحیح|درست)[ \t]{0,3}:?[ \t]{1,3}(?=\(?[A-Z\d]\)?[ \t]{1,3}است)/gu, "the answer is "],
  // Hungarian and Bengali have no copula.
  [
    /(?<!\p{L})(?:a[ \t]{1,3})?helyes[ \t]{1,3}válasz[ \t]{1,3}(?:az?[ \t]{1,3})?(?=\(?[A-Z\d]\)?[.\s]*$)/gimu,
    "the answer is "
  ],
  [/সঠিক[ \t]{1,3}উত্তর[ \t]{1,3}(?:হল|হলো)?[ \t]{0,3}(?=\(?[A-Z\d])/gu, "the answer is "],
  // "Cevap B'dir."
  [
    /(?<!\p{L})(?:doğru[ \t]{1,3})?(?:cevap|yanıt)[ \t]{1,3}(?=[A-Z\d](?:['’ ]?(?:dır|dir|dur|dür|tır|tir)|[ \t]şıkkı(?:dır)?)(?!\p{L}))/giu,
    "the answer is "
  ]
]

/** Words before a noun that prevent its clause from stating the answer. */
const denied =
  /(?<!\p{L})(?:no|non|não|nao|ne|nicht|kein|keine|niet|nie|не|если|si|se|wenn|falls|als|jika|nếu|không|đừng|tidak|jangan|jeśli|creen|dice|dicen|sagt|dit|disent|dicono)(?!\p{L})|不|没|非|如果|若|假设|认为|说|もし|만약/iu
/** Equivalent for a whole sentence. */
const doubted =
  /(?<!\p{L})(?:quizás?|tal vez|talvez|peut-être|forse|vielleicht|może|mungkin|có lẽ|возможно)(?!\p{L})|可能|也许|かもしれ|아마/iu

const clauseEnd = /[.,;:!?\n]/
const sentenceEnd = /[.;!?\n]/
const reach = 80

const isStated = (before: string): boolean => {
  const near = before.slice(-reach)
  return !denied.test(near.split(clauseEnd).at(-1) ?? "") && !doubted.test(near.split(sentenceEnd).at(-1) ?? "")
}

/** Words after an announcement, in the order of replacement. */
const others: ReadonlyArray<readonly [pattern: RegExp, english: string]> = [
  [/不(?=[.,!\s])|不对|不正确|更正|等等|等一下|错了|待って|잠깐|아니요/gu, " wait, "],
  [
    /(?<!\p{L})(?:espera|espere|perdón|perdon|attends|attendez|pardon|warte|moment|entschuldigung|nein|aspetta|scusa|scusate|desculpe|подождите|подожди|стоп|нет|poczekaj|bekle|me equivoqué|je me suis trompé)(?!\p{L})/giu,
    " wait, "
  ],
  [
    /(?<!\p{L})(?:incorrect[ao]|errónea|equivocad[ao]|incorrecte|fausse|faux|falsch|sbagliat[ao]|errad[ao]|неверно|неправильно|błędna)(?!\p{L})|错误|間違い|틀렸/giu,
    " wrong "
  ],
  [
    /(?<!\p{L})(?:porque|ya que|puesto que|pues|parce que|car|puisque|weil|denn|poiché|perché|omdat|eftersom|fordi|ponieważ|потому что|так как|поскольку|çünkü|karena|vì)(?!\p{L})|因为|因為|由于|なぜなら|왜냐하면/giu,
    " because "
  ],
  [/或者|或|还是|還是|または|또는/gu, " or "],
  [
    /(?<=[A-Z\d]\)?)[ \t]{1,3}(?:o|u|ou|oder|oppure|of|eller|lub|albo|или|veya|atau|hoặc|أو)[ \t]{1,3}(?=\(?[A-Z\d])/gu,
    " or "
  ],
  [/(?<=[A-Z\d]\)?)[ \t]{1,3}(?:y|e|et|und|en|och|og|i|и|ve|dan|và)[ \t]{1,3}(?=\(?[A-Z\d])/gu, " and "],
  [/(?<=[A-Z\d]\)?)(?:和|与|及|と)(?=\(?[A-Z\d])/gu, " and "],
  [
    /(?<=(?:is|not|option|choose) ["'(]{0,2}[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\d]["')]{0,2})(?=です|だ|である|になり|입니다|이다|이에요|예요|번)/gu,
    " "
  ],
  [/(?<= )번?(?:です|だ|である|になります|입니다|이다|이에요|예요|번)(?=[\s.,;!?]|$)/gu, " "],
  [/(?<=[A-Z\d])['’ ]?(?:dır|dir|dur|dür|tır|tir)(?!\p{L})/gu, " "],
  [/(?<=[A-Z\d\p{Script=Devanagari}]\)?)[ \t]{1,3}(?:है|است)(?!\p{L})/gu, " "],
  [
    /(?<!\p{L})(?:auch|ebenfalls|también|tambien|aussi|également|anche|também|tambem|ook|också|også|тоже|также|też|również|juga|cũng)(?!\p{L})|(?<=[A-Z\d]\)?)也(?:是|对|正确)?/giu,
    " also "
  ],
  [ChoiceVerdicts.called, "option "],
  [/(?<!\p{L})(?:und|y|et|e|i|и|en|och|og|ve)[ \t]{1,3}(?=;)/giu, " "],
  [
    /(?<=, ?)(?:wenn|falls|sofern|si|se|als|mits|om|если|якщо|jeśli|jika|nếu|eğer)(?!\p{L})|如果|若是|もし|만약/giu,
    " if "
  ],
  // "正解はBではなくC", "정답은 B가 아니라 C": the denied one comes first.
  [/["'(]?[A-Z\d]["')]?(?:ではなく(?:て)?|じゃなくて?|[이가]?[ \t]?아니라)[, \t]{0,3}(?=["'(]?[A-Z\d])/gu, " "],
  [
    /(?<!\p{L})(?:nicht|no|non|pas|niet|inte|ikke|не|nie|não)[ \t]{1,3}(?=["'(]?[A-Z\d]["')]?,?[ \t]{1,3}(?:sondern|sino|mais|ma|maar|utan|men|а|но|lecz|ale|mas)(?!\p{L}))/giu,
    "not "
  ],
  [/(?<=,? )(?:sondern|sino|mais|maar|utan|lecz|mas)(?!\p{L})/giu, " but "],
  [/而?不是/gu, " not "],
  [/而是/gu, " but "],
  [
    /(?<=[A-Za-z\d]\)?)[ \t]{0,2}(?:번[ \t]?)?(?:です|だ|である|になります|입니다|이다|이에요|예요|选项|項|项|है|şıkkı(?:dır)?(?!\p{L}))|(?<=[A-Z\d]\)?)(?:번|と(?:なります|なる))(?=[\s.,;!?]|$)/gu,
    " "
  ],
  [/(?<=[A-Z\d])(?=[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}])/gu, " "]
]

/** East Asian full stops and brackets that compatibility forms do not cover. */
const punctuation: ReadonlyArray<readonly [pattern: RegExp, ascii: string]> = [
  [/【(?:正确|标准)?答案】/g, "答案:"],
  [/我(?:认为|認為|觉得|覺得)/g, ""],
  [/[。।]/g, ". "],
  [/、/g, ", "],
  [/[「『【〔]/g, " ("],
  [/[」』】〕]/g, ") "]
]

const replaced = (text: string, all: ReadonlyArray<readonly [pattern: RegExp, by: string]>): string =>
  all.reduce((written, [pattern, by]) => written.replaceAll(pattern, by), text)

/** Texts that may contain an announcement in another language. */
const candidates =
  /respuesta|resposta|risposta|r[ée]ponse|opci[óo]n|opç|opzione|alternativa|gabarito|bonne|soluc|soluz|solution|antwo|lösung|svar|odpov|odpow|cevap|yanıt|đáp|trả lời|jawaban|ответ|відповідь|جابة|الجواب|תשובה|उत्तर|जवाब|উত্তর|答|正解|답|选|選|elijo|escojo|escolho|scelgo|choisis|wähle|kies|wybieram|выбираю|memilih|richtig|korrekt|corre[ct]t[aeo]|corret[ao]|giust[ao]|juist|c['’]est|treffe|trifft|stimmt|letra|lettre|lettera|вариант|варіант|верн|правильн|poprawn|prawidłow|optie|keuze|rätt|riktig|rigtig|seçene|doğru|benar|đúng|phương|απάντηση|επιλογή|σωστ|الخيار|对的|對的|απάντ|răspuns|raspuns|válasz|vastaus|คำตอบ|پاسخ|گزینه|विकल्प|אפשרות|正确|正確|正し|선택|정답|보기|맞|옳|적절|올바|알맞|proposition|exact[aeo]|esatt[ao]|chọn|(?:^|[.,;:!?\n] ?)(?:es|es ist|è|é) /i

/** An ambiguous letter that looks Latin: "В" may be the second choice or the third. */
const isAmbiguous = (label: string, labels: ReadonlyArray<string>): boolean =>
  /^[\p{Script=Cyrillic}\p{Script=Greek}]$/u.test(label) &&
  !labels.some((one) => one.toUpperCase() === label.toUpperCase())

const bare = (written: string): string => written.replaceAll(/[^\p{L}\p{N}]/gu, "")

/** Consecutive choices: "A oder" before "B ist richtig". */
const isListed = (before: string): boolean =>
  /(?<![\p{L}\p{N}])[A-Z\d]["')\]]?,?[ \t]{1,3}(?:o|u|ou|oder|oppure|of|eller|lub|albo|или|veya|atau|hoặc|أو|y|e|et|und|en|och|og|i|и|ve|dan|và)[ \t]{0,3}$/iu.test(
    before
  )

/** The text with its announcements and judgements in English, for choices with these labels. */
export const inEnglish = (text: string, labels: ReadonlyArray<string>): string => {
  if (!candidates.test(text)) return text
  const plain = replaced(text.normalize("NFKC"), punctuation)
  let isFound = false
  const rewritten = (written: string, [pattern, english]: readonly [pattern: RegExp, english: string]): string =>
    written.replaceAll(pattern, (found: string, ...rest: ReadonlyArray<unknown>) => {
      const at = rest.findLast((one) => typeof one === "number") ?? 0
      const label = english.includes("$1") ? String(rest[0]) : ""
      const named = label === "" ? firstLetter(written.slice(at + found.length, at + found.length + 8)) : bare(label)
      const before = written.slice(Math.max(0, at - reach), at)
      if (isAmbiguous(named, labels) || !isStated(before) || (label !== "" && isListed(before))) return found
      isFound = true
      return `; ${english.replace("$1", () => label)}`
    })
  const translated = heads.reduce(rewritten, ChoiceVerdicts.all.reduce(rewritten, plain))
  return isFound ? replaced(translated, others) : text
}

/** The letter standing alone here. */
const firstLetter = (text: string): string => /^[^\p{L}\p{N}]{0,6}(\p{L})(?!\p{L})/u.exec(text)?.[1] ?? ""
