/**
 * Translates judgements of a choice in other languages to English: "Antwort B ist richtig" becomes "option B is
 * correct", "La opción A es incorrecta" becomes "option A is wrong", "Richtig ist B" becomes "the answer is B".
 *
 * A family of languages has its nouns for choices, its copulas and its words for right and wrong. Only complete
 * judgements are translated. Linear in the text.
 */

interface Family {
  /** Nouns for a choice or an answer, with articles. */
  readonly noun: string
  readonly is: string
  readonly isNot: string
  readonly right: string
  readonly wrong: string
  /** True if the copula is optional. */
  readonly isBare?: boolean
}

const gap = "[ \\t]{1,3}"
const space = "[ \\t]{0,3}"
const mark = "[*_]{0,3}"
const articles = "la|el|l['’]|o|a|os|as|il|lo|le|die|der|das|het|de|den|det"
const article = `(?:(?:${articles})[ \\t]{0,3})?`
/** A label, or a placeholder of the caller for one. */
const label = `(${mark}["'(\\[]?(?:[A-Z]|\\d{1,2}|\\p{Script=Cyrillic}|\\p{Script=Greek})["')\\]]?${mark})(?![\\p{L}\\p{N}])`

const families: ReadonlyArray<Family> = [
  // Spanish, Portuguese, Italian, French
  {
    noun: "opción|opcion|opção|opcao|opzione|option|alternativa|respuesta|resposta|risposta|réponse|reponse|letra|lettera|lettre|proposition|choix",
    is: "es|é|è|est|está|sería|seria|resulta",
    isNot: "no es|não é|nao é|não está|non è|n['’]est pas",
    right:
      "(?:la|a|o|el|il|le|l['’]|quella|aquela)?[ \\t]{0,3}(?:única[ \\t]{1,3})?(?:(?:respuesta|resposta|risposta|réponse|opción|opção|opzione|option|alternativa)[ \\t]{1,3})?(?:correct[ao]|correcte|corrett[ao]|corret[ao]|giust[ao]|cert[ao]|exact[ao]|exacte|juste|vraie|bonne[ \\t]{1,3}réponse|bonne(?=[ \\t]{1,3}(?:option|proposition|alternative))|esatt[ao]|verdader[ao]|verdadeir[ao]|válid[ao]|adecuad[ao]|adequad[ao])",
    wrong:
      "incorrect[ao]|incorrecte|incorret[ao]|errónea|errada|equivocad[ao]|fals[ao]|fausse|sbagliat[ao]|errat[ao]|inexacte"
  },
  // German, Dutch, Swedish, Danish, Norwegian
  {
    noun: "antwort|antwortmöglichkeit|option|möglichkeit|aussage|lösung|buchstabe|optie|antwoord|keuze|svar|svaret|alternativ|alternativet|svarsalternativ|mulighed",
    is: "ist|lautet|is|är|er|trifft(?= zu)|stimmt",
    isNot: "ist nicht|is niet|är inte|er ikke",
    right:
      "(?:die|das|der|het|de|det|den)?[ \\t]{0,3}(?:einzig[ \\t]{1,3})?(?:richtige?|korrekte?|zu(?=[ \\t]{0,3}(?:[.,;:!)\\n]|$))|zutreffend|wahr|juiste?|correcte?|goed|rätta?|riktige?|korrekt|rigtige?|rette)(?:[ \\t]{1,3}(?:antwort|option|lösung|antwoord|optie|svaret|svar))?",
    wrong: "falsch|inkorrekt|unzutreffend|onjuist|fout|incorrect|fel|felaktigt?|forkert|feil"
  },
  // Polish, Czech, Turkish, Vietnamese, Indonesian
  {
    noun: "odpowiedź|opcja|odpověď|možnost|varianta|cevap|yanıt|seçenek|şık|đáp án|phương án|câu trả lời|lựa chọn|jawaban|pilihan|opsi",
    is: "jest|to|je|là|adalah",
    isNot: "nie jest|není|không phải là|không|bukan|tidak",
    right:
      "(?:poprawna|prawidłowa|właściwa|správná|správně|doğru(?:dur)?|đáp án đúng|đúng|chính xác|jawaban yang benar|yang benar|benar|tepat)",
    wrong: "błędna|niepoprawna|nieprawidłowa|fałszywa|špatná|nesprávná|yanlış(?:tır)?|sai|salah",
    isBare: true
  },
  // Russian, Ukrainian, Bulgarian, Greek, Arabic, Hebrew
  {
    noun: "ответ|вариант ответа|вариант|пункт|буква|відповідь|варіант|отговорът|отговор|απάντηση|η απάντηση|επιλογή|η επιλογή|الإجابة|الخيار|תשובה|אפשרות",
    is: "это|является|—|–|-|є|е|είναι|هو|هي|היא",
    isNot: "не|не является|не е|δεν είναι|ليس|ليست|לא|אינה",
    right:
      "(?:правильны[йм]|правильна|правильно|верны[йм]|верен|верна|верно|вірна|вірний|η σωστή|σωστή|правилен|الصحيحة?|صحيحة?|הנכונה|נכונה)(?:[ \\t]{1,3}(?:ответом|ответ|απάντηση))?",
    wrong: "неправильный|неправильно|неправильна|неверный|неверен|неверна|неверно|λάθος|خاطئة?|خطأ|שגויה",
    isBare: true
  }
]

const end = "[ \\t]{0,3}(?:[.,;:!)\\n]|$)"
const whole = (words: string): string => `(?:${words})(?![\\p{L}])`
const start = "(?<![\\p{L}\\p{N}])"
/** Start of a clause without a noun: after punctuation, or a conjunction. */
const clauseStart =
  "(?<=^|[.,;:!?\\n(]|[.,;:!?\\n(] |\\n- |(?<![\\p{L}])(?:also|daher|somit|deshalb|quindi|dunque|donc|luego|entonces|logo|dus|więc|значит|поэтому|así que|por eso|por lo que|und|y|et|en|och|og|и|ve|và|dan|aber|pero|mas|mais|ma|maar|men|но|а|ale|lecz|sondern|sino) )"
/** Words after which German, Dutch and related languages put the verb before the subject: "daher ist B richtig". */
const inverting =
  "(?:daher|somit|also|folglich|damit|deshalb|demnach|deswegen|dann|hier|dus|daarom|därför|alltså|således|derfor|altså)"
/** Several choices: "A, B und C". */
const list = `((?:["'(]?[A-Z]["')]?(?:[ \\t]{0,2},[ \\t]{0,2}|[ \\t]{1,3}(?:y|e|et|und|en|och|og|i|и|ve|và|dan|o|ou|oder|или)[ \\t]{1,3})){1,5}["'(]?[A-Z]["')]?)`

const judgements = ({ is, isBare = false, isNot, noun, right, wrong }: Family): ReadonlyArray<Rewriting> => {
  const named = `${start}${article}(?:${noun})${gap}(?:nr\\.? ?|n[º°o]\\.? ?|número )?${label}`
  const verb = isBare ? `(?:${gap}${whole(is)})?${gap}` : `${gap}${whole(is)}${gap}`
  const qualifier = `(?:${right})(?:[ \\t]{1,3}(?:${noun}))?`
  return [
    [
      new RegExp(
        `${start}${list}${gap}(?:son|sono|são|sont|sind|zijn|är|er|są|là|adalah|являются)?${space}(?:tod[ao]s|toutes|tutte|alle|alla|wszystkie|все|semua|đều)?${space}(?:${wrong})(?:e|s|en|es)?(?![\\p{L}])`,
        "giu"
      ),
      "$1 are wrong"
    ],
    [
      new RegExp(
        `${start}${inverting}${gap}${whole(is)}${gap}${article}(?:(?:${noun})${gap})?${label}${gap}${whole(right)}`,
        "giu"
      ),
      "option $1 is correct"
    ],
    [new RegExp(`${named}${gap}${whole(isNot)}${gap}${whole(right)}`, "giu"), "option $1 is wrong"],
    [new RegExp(`${named}${verb}${whole(wrong)}`, "giu"), "option $1 is wrong"],
    [new RegExp(`${named}${verb}${whole(right)}`, "giu"), "option $1 is correct"],
    [new RegExp(`${clauseStart}${article}${label}${gap}${whole(isNot)}${gap}${whole(right)}`, "giu"), "$1 is wrong"],
    [new RegExp(`${clauseStart}${article}${label}${verb}${whole(wrong)}`, "giu"), "$1 is wrong"],
    [new RegExp(`${clauseStart}${article}${label}${verb}${whole(right)}`, "giu"), "$1 is correct"],
    // "Die richtige Option ist B", "Richtig ist Antwort B", "Правильный вариант — B", "Correcta: B"
    [
      new RegExp(
        `${clauseStart}${article}${qualifier}${mark}${space}(?:${whole(is)}|[:—–=])${mark}${space}${article}(?:(?:${noun})${gap})?${label}`,
        "giu"
      ),
      "the answer is $1"
    ],
    [
      new RegExp(`${clauseStart}${article}(?:${right})${gap}(?:${noun})${gap}${label}(?=${end})`, "giu"),
      "the answer is $1"
    ],
    // "C'est la réponse B", "Es la B"
    [
      new RegExp(
        `${clauseStart}(?:c['’]est|il s['’]agit de|se trata de|trata-se d[ae]|si tratta della?|es handelt sich um|es|é|è|es ist|das ist|het is|det är|det er|это|to|jest to)${gap}${article}(?:(?:${noun})${gap})?${label}(?=${end})`,
        "giu"
      ),
      "it is $1"
    ],
    // "Antwort B."
    [new RegExp(`${clauseStart}${article}(?:${noun})${gap}${label}(?=${end})`, "giu"), "option $1"]
  ]
}

/** Japanese, Chinese, Korean: without spaces, or with particles. */
const eastLabel = `(["'(\\[]?(?:[A-Z]|\\d{1,2}|[甲乙丙丁戊①-⑨]|(?<!\\p{Script=Katakana})[アイウエオ]|(?<!\\p{Script=Hiragana})[あいうえお]|(?<!\\p{Script=Hangul})[가나다라마바사아자차ㄱ-ㅎ])["')\\]]?)`
const eastNoun = "(?:选项|選項|选择|答案|選択肢|보기|선택지)?[ \\t]{0,2}"
const eastBehind = "(?:选项|選項|项|項|번)?[ \\t]{0,2}"
const eastSubject = `${eastNoun}${eastLabel}${eastBehind}`
const eastRight =
  "(?:正确答案|正確答案|正确选项|正確選項|正确的?|正確的?|对的|對的|正解|正しい(?:答え)?|正しいです|정답|맞습니다|맞다|맞아요|옳습니다|옳다)"
const eastWrong =
  "(?:错误的?|錯誤的?|错的|不正确的?|不正確的?|不对|不對|間違い|誤り|오답(?:이고|이며|이므로)?|틀렸(?:습니다|고|으며|으므로|지만)|틀립니다|틀리(?:다|고|며|므로))"
const eastStart = "(?<![A-Za-z\\d]|[或和与及とや는와과] ?|(?<![\\p{L}\\d])[A-Z], ?)"

/** Enumerated: a comma without a blank, as Chinese clauses have it, begins another clause. */
const eastList = `((?:["'(]?[A-Z]["')]?(?:, | ?[和与及とや와과] ?)){1,5}["'(]?[A-Z]["')]?)`
const eastAll = "(?:[はが은는이가]|选项|項)?[ \\t]?(?:都|均|皆|全|すべて|全て|どれも|모두|다)?(?:是)?[ \\t]?"

const east: ReadonlyArray<Rewriting> = [
  [new RegExp(`${eastStart}${eastList}${eastAll}${eastWrong}`, "gu"), "$1 are wrong "],
  [new RegExp(`${eastStart}${eastList}${eastAll}${eastRight}`, "gu"), "$1 are correct "],
  [new RegExp(`${eastStart}${eastSubject}(?:不是|并不是|並不是)${eastRight}`, "gu"), "option $1 is wrong "],
  [
    new RegExp(`${eastStart}${eastSubject}(?:是|が|は|가|이|은|는)?[ \\t]{0,2}${eastWrong}`, "gu"),
    "option $1 is wrong "
  ],
  [
    new RegExp(
      `${eastStart}${eastSubject}也?(?:才?是|为|為|最|が|は|가|이|은|는)?[ \\t]{0,2}${eastRight}(?!では|じゃ|이 아|가 아)`,
      "gu"
    ),
    "option $1 is correct "
  ]
]

/** Nouns for a choice before its label. */
export const called = new RegExp(
  `${start}(?:${families.map(({ noun }) => noun).join("|")})${gap}(?=["'(]?[A-Z\\d]["')]?(?![\\p{L}\\p{N}]))`,
  "giu"
)

type Rewriting = readonly [pattern: RegExp, english: string]

/** Judgements, negative ones first. */
export const all: ReadonlyArray<Rewriting> = [
  ...families.flatMap(judgements),
  [
    new RegExp(`${start}${label}${gap}(?:seçeneği|şıkkı)${gap}doğru(?:dur)?(?![\\p{L}])`, "giu"),
    "option $1 is correct"
  ],
  ...east
]
