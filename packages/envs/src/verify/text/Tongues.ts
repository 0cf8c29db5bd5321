/**
 * Translates words of other languages around an answer to English, for the rules that read denials, hedges and
 * retractions: "es incorrecto" becomes "that is wrong", "oder 25" becomes "or 25".
 *
 * Closed word classes of about seventeen languages; a text without any of these words is unchanged. Linear in the text.
 */

type Rewriting = readonly [pattern: RegExp, english: string]

/** A pattern of whole words. */
const words = (pattern: string): RegExp => new RegExp(`(?<![\\p{L}\\p{M}])(?:${pattern})(?![\\p{L}\\p{M}])`, "giu")

const copula =
  "(?:es|est|ist|war|était|fue|foi|był[oa]?|è|é|e|está|era|sería|seria|is|was|är|er|jest|to|là|adalah|это|было)"
const pronoun =
  "(?:eso|esto|ello|isso|isto|das|dies|es|questo|quello|ciò|c['’]|ça|cela|ce|dat|dit|det|to|это|bu|itu|ini)"
const wrong =
  "(?:incorrect[ao]|erróne[ao]|equivocad[ao]|errad[ao]|incorret[ao]|incorrecte|inexacte?|fausse|faux|fals[oa]|falsch|unrichtig|inkorrekt|sbagliat[oa]|errat[oa]|onjuist|fout|fel(?:aktigt?)?|forkert|feil|błąd|błędn[aey]|niepoprawn[aey]|nieprawidłow[aey]|неверно|неверный|ошибка|неправильно|неправильный|ошибочно|yanlış(?:tır)?)"
const answer =
  "(?:(?:la|a|die|meine|ma|mi|minha|het|mijn)\\s)?(?:respuesta|resposta|risposta|réponse|antwort|antwoord|ответ)(?:\\s(?:anterior|precedente|précédente|vorherige))?"
const right =
  "(?:correct[ao]|correcte|corrett[ao]|corret[ao]|exacte|juste|bonne|giust[ao]|richtige?|korrekte?|juiste|правильный|верный|правильно|верно)"

/** "Let me compute this again", after which another result may follow. */
const anew =
  "reconsider(?:ando|emos|iamo)|recalcul(?:ando|emos|amos|ei|ons|iamo)|ricalcol(?:ando|iamo|o)|(?:voy\\sa|vou|vamos\\sa|deixe-me|déjame|permíteme)\\s(?:recalcular|reconsiderar|rehacer|refazer)(?:lo)?|je\\srecalcule|refaisons|reprenons|(?:ich\\s)?(?:rechne|überlege|prüfe)\\s(?:(?:es|das|ich)\\s)?(?:noch\\s?(?:ein)?mal|nochmals|erneut|neu)|(?:noch\\s?(?:ein)?mal|nochmals|erneut)\\s(?:nach)?(?:gerechnet|überlegt|berechnet)|(?:давайте\\s|давай\\s)?(?:пересчита(?:ем|ю)|переделаем|пересмотрим)|دعني\\s(?:أعيد|أراجع)|फिर\\sसे\\s(?:गणना|सोच|विचार)"

/** Directly after a correcting word. */
const afterCorrection = "(?<=(?:wait,|actually|(?<![a-z])no[,.!])[\\s,.!:]{0,6})"

const rewritings: ReadonlyArray<Rewriting> = [
  [/[¡¿]/gu, " "],
  [/[。．]|।/gu, ". "],
  [/，|、|،/gu, ", "],
  [words(anew), " let me reconsider: "],
  [
    /(?:让我|我来|我们)?(?:重新|再)(?:考虑|計算|计算|算|想)(?:一下|一遍|一次)?|(?:もう一度)?(?:計算し直|考え直|再計算)\p{L}*|もう一度計算\p{L}*|다시\s(?:계산|생각)\p{L}*/gu,
    " let me reconsider: "
  ],
  [/；/gu, "; "],
  [/：/gu, ": "],
  [/！/gu, "! "],
  [/？/gu, "? "],
  [words(`${answer}\\s${copula}\\s${wrong}`), " the answer is wrong "],
  [/(?:上述|之前的|前面的|这个|我的)?答案(?:是)?(?:错误的?|错的?|不对|不正确)(?:了)?/gu, " the answer is wrong "],
  [
    words(
      `(?:(?:la|a|o|el|il|le|die|das)\\s)?(?:${right}\\s(?:respuesta|resposta|risposta|réponse|antwort|ответ)|(?:respuesta|resposta|risposta|réponse)\\s${right}|${right})\\s?(?:${copula}|—|:)(?=\\s?[$\\d\\\\-])|правильно(?=\\s\\d)`
    ),
    " the correct answer is "
  ],
  [/(?:正确|正しい)的?(?:答案|答え)?(?:应该|應該|应)?(?:是|为|は|:)|正解は|정답은/gu, " the correct answer is "],
  [words(`(?:${pronoun}\\s?)?(?:no|não|non|ne|n['’]|nie|не)\\s?${copula}\\s(?:pas\\s)?${right}`), " that is wrong "],
  [
    words(`(?:${pronoun}\\s?)?${copula}\\s(?:nicht|niet|inte|ikke)\\s(?:richtig|korrekt|juist|rätt|riktig)`),
    " that is wrong "
  ],
  [
    words(`(?:(?:${pronoun}\\s?)?${copula}\\s(?:(?:leider|aber|doch|también|une\\s)\\s?)?|(?:${pronoun}\\s))${wrong}`),
    " that is wrong "
  ],
  [
    words(
      `(?:(?:eso|esto)\\s)?est[áa]\\s(?:mal|errado|errada)|je\\sme\\ssuis\\strompée?|me\\s(?:equivoqué|he\\sequivocado)|ich\\shabe\\smich\\s(?:geirrt|verrechnet)|mi\\ssono\\ssbagliat[oa]|errei|(?:cometí|he\\scometido|cometi)\\su[nm]\\serror?|j['’]ai\\sfait\\sune\\serreur|ho\\s(?:sbagliato|commesso\\sun\\serrore)|ich\\shabe\\seinen\\sfehler\\sgemacht|ik\\sheb\\s(?:me\\svergist|een\\sfout\\sgemaakt)|popełnił[ea]m\\sbłąd|das\\sstimmt\\snicht|я\\sошиб(?:ся|лась)`
    ),
    " that is wrong "
  ],
  [
    /(?:(?:هذا|هذه|هو|هي|الجواب|الإجابة)\s)?(?:خطأ|خاطئ[ةا]?|غير\sصحيح[ةا]?|ليس(?:ت)?\sصحيح[ةا]?)(?!\p{L})/gu,
    " that is wrong "
  ],
  [/(?:यह|वह|उत्तर)\s(?:गलत|ग़लत|सही\sनहीं)\s(?:है|था)/gu, " that is wrong "],
  [/(?:الجواب|الإجابة)\s(?:الصحيح(?:ة)?)\s(?:هو|هي)?|सही\s(?:उत्तर|जवाब)(?=\s[$\d\\-])/gu, " the correct answer is "],
  [/(?<!\p{L})(?:أو)(?=\s[$\d\\-])|(?<!\p{L})या(?=\s[$\d\\-])/gu, " or "],
  [/(?<!\p{L})(?:ربما|शायद)(?![\p{L}\p{M}])/gu, " maybe "],
  [/(?<!\p{L})(?:على\sالأقل|कम\sसे\sकम)(?![\p{L}\p{M}])/gu, " at least "],
  [/(?<!\p{L})(?:على\sالأكثر|ज़्यादा\sसे\sज़्यादा|अधिक\sसे\sअधिक)(?![\p{L}\p{M}])/gu, " at most "],
  [/(?<!\p{L})(?:حوالي|تقريب[اًا]{1,2}|लगभग|क़रीब|करीब)(?![\p{L}\p{M}])/gu, " roughly "],
  [
    words(
      "(?:je\\sdevine|adivino|chuto|ich\\srate|ik\\sgok|jag\\sgissar|zgaduję|угадываю|mi\\s(?:suposición|conjetura)\\ses|meu\\s(?:palpite|chute)\\sé|meine\\svermutung\\sist)"
    ),
    " my guess is "
  ],
  [/我猜(?:是|答案是|测是)?|(?:推測|勘)では|추측(?:은|하면)/gu, " my guess is "],
  [words("(?:là\\s|này\\s|đó\\s)sai|(?:adalah|itu)\\ssalah"), " that is wrong "],
  [new RegExp(`(?<=^[\\s$*_,;:)—–-]{0,9})${wrong}(?![\\p{L}])`, "giu"), " that is wrong "],
  [new RegExp(`(?<=[.!?\n]\\s?)${wrong}(?=\\s?[.!])`, "giu"), " that is wrong "],
  [
    /(?<!没有?|不会|你|他|她|如果)(?:我们?)?(?:刚才|之前|前面)?(?:算|弄|搞|想|看|写|答|数|加|减|乘)错了?(?:题目?|数字?|条件|符号)?(?!\p{L})|(?:計算を?)?間違え(?:ました|た|ています)(?!\p{L})|計算ミス(?:です|でした|をしました)(?!\p{L})/gu,
    " that is wrong "
  ],
  [
    words(
      `(?:${pronoun}\\s?)?(?:${copula}\\s)?(?:une\\serreur|un\\serrore?|um\\serro|ein\\sfehler|een\\sfout|ett\\sfel|en\\sfejl)(?=\\s?[.!])`
    ),
    " that is wrong "
  ],
  [
    words("korrektur|correction|corrección|correção|correzione|correctie|исправление|поправка|korekta)(?:\\s?:"),
    " correction: "
  ],
  [/(?:更正|订正|訂正|정정)\s?:/gu, " correction: "],
  [
    /(?<!\p{L})(?:erreur|error|errore|erro|fehler|ошибка)\s?[:!,]\s?(?=(?:c['’]est|es|das|son|è|é|это)\s[-$\\\d])/giu,
    " wait, "
  ],
  [
    words("en\\sfait|en\\srealidad|in\\srealtà|na\\sverdade|tatsächlich|на\\sсамом\\sделе|w\\srzeczywistości"),
    " actually "
  ],
  [/(?:实际上|實際上|其实|実際は|実は|사실은?)(?=,|\s?[是为\d])/gu, " actually "],
  [/(?<!对)(?:这|那)?是?(?:错误的?|錯誤的?|错的|错了?|不正确的?|不正確的?|不对|不對)了?(?!\p{L})/gu, " that is wrong "],
  [
    /(?:これ)?[はが]?(?:間違い|間違って|誤り)(?:です|でした|だ|である|います)?(?!\p{L})|違(?:います|う|いました)(?!\p{L})/gu,
    " that is wrong "
  ],
  [/(?:그것)?[은는이가]?\s?(?:틀렸|틀립|오답|잘못되었|잘못됐)\p{L}*/gu, " that is wrong "],
  [/(?:では|じゃ)(?:ない|ありません|なく)|(?:이|가)?\s?아(?:닙니다|니다|니라|니에요|니고)/gu, " is not correct "],
  [words("değil(?:dir)?"), " is not correct "],
  [
    words(
      "espera|espere|perdón|attends|attendez|pardon|warte|moment|aspetta|scusa|desculpe|ops|oups|ups|hoppla|ой|подождите|подожди|стоп|bekle|tunggu|khoan"
    ),
    " wait, "
  ],
  [
    words(
      "(?:peccato|accidenti|purtroppo|lamentablemente|desafortunadamente|por\\sdesgracia|infelizmente|hélas|malheureusement|zut|mince|leider|schade|helaas|tyvärr|niestety|увы|к\\sсожалению|maalesef|sayangnya)(?=\\s?[,!])"
    ),
    " wait, "
  ],
  [words("(?:عذر[اًا]{1,2}|انتظر|रुको|रुकिए|माफ़\\sकीजिए)(?=\\s?[,.!;।،])"), " wait, "],
  [words("nein|нет|(?:non|não|nao|nee|nej|nei|nie|hayır|không|tidak|لا|नहीं)(?=\\s?[,.!;।،])"), " no, "],
  [/नहीं\sहै(?![\p{L}\p{M}])/gu, " is not correct "],
  [/等等|等一下|等下|待って|잠깐(?:만)?/gu, " wait, "],
  [/いや|いいえ|(?<!\p{L})不(?=,)|아니요?(?=[,. ])/gu, " no, "],
  [
    words(
      "(?:(?:eso|esto|isso|das|es|ça|cela|questo)\\s)?(?:debería|deberia|deveria|sollte|müsste|devrait|dovrebbe|должно)\\s(?:ser|être|essere|быть|eigentlich)?"
    ),
    " it should be "
  ],
  [
    new RegExp(
      `${afterCorrection}(?:(?:c['’]est|ce\\ssont|(?:es|das)\\s(?:ist|sind)|(?:ist|sind)\\ses|es|son|è|é|sono|são|это|to|het\\sis|det\\s(?:är|er)|là|الجواب(?:\\sهو)?)\\s|[是为]\\s?)(?=[-$\\\\\\d])`,
      "giu"
    ),
    "it is "
  ],
  [/(?<=(?:wait|no),[\s,.!:]{0,6}\$?-?[\d.,]{1,20}\$?\s?)(?:です|でした|だ|입니다|이에요|예요)(?!\p{L})/giu, ""],
  [/(?:它|答案)?(?:应该|應該|应当)(?:是|为|為)/gu, " it should be "],
  [
    words(
      "no\\s(?:es|son|era|fue|sería)|n[ãa]o\\s(?:é|são|era|foi|seria)|non\\s(?:è|sono|era)|n['’]est\\spas|ne\\ssont\\spas|(?:sind|war)\\snicht|zijn\\sniet|ist\\snicht|is\\sniet|är\\sinte|er\\sikke|nie\\sjest|to\\snie|не\\sявляется|не\\sравен|не\\sравно|не\\sможет\\sбыть|bukan|không\\sphải(?:\\slà)?"
    ),
    " is not "
  ],
  [/(?<!是)(?:并)?不(?:是|等于|為|为)(?!不)/gu, " is not "],
  [words("не(?=\\s[$\\\\\\d])"), " is not "],
  [/(?<!\p{L})و?ليس(?:ت)?(?!\p{L})/gu, " is not "],
  [/而是|(?<!\p{L})بل(?!\p{L})/gu, " but "],
  [words("sondern|sino|mais|mas|но"), " but "],
  [
    words(
      "quizás?|tal\\svez|talvez|a\\slo\\smejor|posiblemente|probablemente|provavelmente|peut-être|probablement|forse|probabilmente|vielleicht|möglicherweise|wahrscheinlich|misschien|waarschijnlijk|kanske|kanskje|måske|być\\smoże|(?:może|может)(?=\\s?[,$\\d\\\\])|возможно|может\\sбыть|наверное|вероятно|belki|mungkin|có\\slẽ"
    ),
    " maybe "
  ],
  [/也许|也許|可能是?|大概是?|或许|或許|かもしれ\p{L}*|たぶん|おそらく|아마도?/gu, " maybe "],
  [
    words(
      "mindestens|wenigstens|zumindest|al\\smenos|por\\slo\\smenos|como\\smínimo|au\\smoins|almeno|pelo\\smenos|no\\smínimo|minstens|minst|mindst|co\\snajmniej|как\\sминимум|не\\sменее|не\\sменьше|по\\sменьшей\\sмере|en\\saz|ít\\snhất|setidaknya"
    ),
    " at least "
  ],
  [
    words(
      "höchstens|a\\slo\\ssumo|como\\smáximo|au\\splus|al\\smassimo|no\\smáximo|hoogstens|högst|højst|co\\snajwyżej|не\\sболее|не\\sбольше|en\\sfazla|nhiều\\snhất"
    ),
    " at most "
  ],
  [/至少|最少|少なくとも|적어도|최소한/gu, " at least "],
  [/至多|最多|多くとも|많아야|최대한/gu, " at most "],
  [
    words(
      "ungefähr|etwa|rund|alrededor\\sde|más\\so\\smenos|environ|à\\speu\\sprès|cerca\\sde|por\\svolta\\sde|ongeveer|ungefär|omkring|około|mniej\\swięcej|примерно|около|khoảng|sekitar|kira-kira"
    ),
    " roughly "
  ],
  [/大约|大約|大概|差不多|およそ|だいたい|대략/gu, " roughly "],
  [
    words(
      "(?:o|u|ou|oder|oppure|eller|lub|albo|или|veya|ya\\sda|atau|hoặc)(?=\\s[$\\\\\\d-]|\\s(?:maybe|quizás?|vielleicht|peut-être|forse|talvez)\\s)"
    ),
    " or "
  ],
  [/(?:或者|或是|还是|還是|或|または|あるいは|또는|혹은)(?=[\s$]{0,3}[\d\\-])/gu, " or "]
]

/** Texts that may contain one of the words: letters that English does not have, or a word that it does not. */
const candidates =
  /¡|[^\p{ASCII}\u0080-\u024f\u2010-\u2027\u2190-\u22ff]|(?<![a-z])(?:es|est|ist|ops|oups|ups|hoppla|errei|comet[ií]|ho|ik|era|seria|is|är|er|jest|incorrect[ao]|fals[oa]|falsch|faux|o|u|ou|oder|oppure|eller|lub|albo|veya|atau|nein|warte|espera|espere|attend(?:s|ez)|aspetta|scusa|ni(?:e|cht|et)|bukan|quiz[aá]s?|tal|talvez|forse|vielleicht|peut|pos(?:s?ib)[a-z]{4,8}|prob[a-z]{5,11}e|prova[a-z]{8}|wahrscheinlich|waarschijnlijk|misschien|kanskj?e|korrektur|corre(?:ctie|zione|ction)|sono?(?=\s[-$\\\d])|mungkin|belki|sollte|dever?ia|devrait|salah|me|je|ich|mi|mindestens|wenigstens|zumindest|al|au|por|pelo|almeno|minstens|minst|mindst|co|en|setidaknya|hoogstens|etwa|rund|alrededor|environ|cerca|non|nee|nej|nei|tidak|reconsiderando|reconsideremos|recalcul[a-z]{2,5}|ricalcol[a-z]{1,5}|voy|vou|vamos|deixe-me|refaisons|reprenons|nochmals?|noch|erneut|adivino|chuto|meu|meine|ongeveer|omkring|sekitar|kira|peccato|accidenti|purtroppo|lamentablemente|desafortunadamente|infelizmente|malheureusement|leider|schade|helaas|niestety|maalesef|sayangnya)(?![a-z])|[à-ž]/iu

/** The text with the words of other languages in English. */
export const inEnglish = (text: string): string =>
  candidates.test(text)
    ? rewritings.reduce((written, [pattern, english]) => written.replaceAll(pattern, english), text)
    : text

/** The text directly before a value in English: some words count only before one. */
export const beforeValue = (text: string): string => inEnglish(`${text}\\`).slice(0, -1)

/** "Die Antwort ist", "答案是：", directly before a value. */
const announcements =
  /(?<!\p{L})(?:(?:la|a|die|das|het|de|el|il|le|o|l['’]|η)\s?)?(?:respuesta|resposta|risposta|réponse|antwort|antwoord|svar(?:et)?|ответ|відповідь|отговор(?:ът)?|odpowiedź|odpověď|odpoveď|cevap|yanıt|jawaban(?:nya)?|jawapan(?:nya)?|vastaus|válasz|răspuns(?:ul)?|απάντηση|ה?תשובה|پاسخ|جواب|ergebnis|lösung|resultado|risultato|résultat|resultaat|resultatet|результат|wynik|solución|soluzione|solução|oplossing)(?:\s(?:correct[ao]|corrett[ao]|finale?|final[ăa]|הסופית|نهایی))?\s?(?:es|és|é|è|est|este|ist|lautet|beträgt|is|är|er|on|je|to|adalah|ialah|е|είναι|היא|:|=|—|–)(?=[\s$*:]{0,6}(?:\\?[$€£])?[-\d\\]|\s?\$[^$\n]{1,300}\$)|(?:最[终後后終])?的?(?:答案|答え|答)\s?(?:是|为|為|は|:|：|=)[:：]?(?=[\s$*]{0,6}(?:\\?[$€£])?[-\d\\]|\s?\$[^$\n]{1,300}\$)|(?<!\p{L})(?:الجواب|الإجابة|الناتج)(?:\sالنهائية?)?\s?(?:هو|هي|:|=)(?=[\s$*:]{0,6}(?:\\?[$€£])?[-\d\\]|\s?\$[^$\n]{1,300}\$)|정?답(?:은|:|：)(?=[\s$*]{0,6}(?:\\?[$€£])?[-\d\\]|\s?\$[^$\n]{1,300}\$)|(?<!\p{L})(?:উত্তর(?:টি)?\s?(?:হ(?:ল|লো|['’]ল|চ্ছে)\s?:?|:|=)|(?:अंतिम\s)?(?:उत्तर|जवाब)\s?(?:है\s?:?|:|=|(?=\s\d))|సమాధానం\s?(?::|=|(?=\s\d))|jibu\s?(?:la\smwisho\s)?(?:ni|:|=)|(?:câu\strả\slời|đáp\s(?:án|số)|kết\squả)\s?(?:cuối\scùng\s)?(?:là\s?:?|:|=))(?=[\s$*]{0,6}(?:\\?[$€£])?[-\d\\]|\s?\$[^$\n]{1,300}\$)|【(?:答案|解答|答え?|정답)】\s?(?=[\s$*]{0,6}(?:\\?[$€£])?[-\d\\]|\s?\$[^$\n]{1,300}\$)|คำตอบ(?:สุดท้าย)?\s?(?:คือ\s?:?|:|=)(?=[\s$*]{0,6}(?:\\?[$€£])?[-\d\\]|\s?\$[^$\n]{1,300}\$)/giu

/** A word of another script behind an announced number, a unit or an ending, but no multiple: "72 个", "72です". */
const unit =
  /( the answer is [\s$*:]{0,6}(?:\\?[$€£])?-?[\d.,/]{0,40}\d\$?)\s?(?!十|百|千|万|萬|亿|億|兆|십|백|천|만|억|тыс|млн|млрд|миллион|миллиард)(?:(?![a-zA-Zµ])[\p{L}\p{M}]){1,20}(?![\p{L}\p{M}])(?!\s?[-\d])/gu

/** The text in English, if it announces its answer in one of the languages; otherwise unchanged. */
export const withAnnouncements = (text: string): string => {
  const announced = text.replaceAll(announcements, " the answer is ")
  return announced === text ? text : inEnglish(announced).replaceAll(unit, "$1")
}
