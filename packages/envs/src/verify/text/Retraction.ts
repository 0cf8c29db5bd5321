/**
 * Decides if the text after an answer takes it back: "is incorrect", "Wait, that's wrong. It should be 25",
 * "Correction: 25".
 *
 * The answer itself, "this answer" and the like may be denied anywhere; "that" and "it" only in the next sentence or
 * after "wait", "no", "actually". After these, and if it is called the correct one, another announced number replaces
 * the answer, as does another result after the text reopens its answer (`Reconsideration`), or one that it offers
 * ("It could also be 25"). A successful check ("Wait, is that right? Yes") takes nothing back, and neither do sentences
 * about other values ("25 would be wrong"). Languages: `Tongues`. Linear in the text.
 */
import * as Reconsideration from "./Reconsideration.ts"
import * as Replacement from "./Replacement.ts"
import * as Tongues from "./Tongues.ts"
import * as Wording from "./Wording.ts"

const adverbs =
  "(?:(?:actually|clearly|definitely|obviously|certainly|simply|just|really|probably|completely|still|also|therefore|thus)\\s+){0,3}"
const isVerb = "(?:is|was|looks|seems|must\\s+be|would\\s+be|has\\s+to\\s+be|turns\\s+out\\s+to\\s+be)"
const wrong =
  "(?:wrong|incorrect|false|mistaken|untrue|a\\s+mistake|an\\s+error|(?:the|a)\\s+(?:wrong|incorrect)\\s+(?:answer|one|value|number|result))(?!\\s+(?:to|that)(?![a-zA-Z]))"
const right =
  "(?:quite\\s+|entirely\\s+|exactly\\s+)?(?:correct|right|true|what|(?:the|my)\\s+(?:final\\s+|correct\\s+|right\\s+)?answer)(?!\\s+(?:to|that)(?![a-zA-Z]))"
const earlier =
  "(?:my|our|the|an?)\\s+(?:first|initial|original|earlier|previous)\\s+(?:guess|attempt|thought|idea|estimate|try)"
const extreme = "(?:(?:much|far|way)\\s+)?too\\s+(?:big|large|small|high|low)(?!\\s+(?:to|for)(?![a-zA-Z]))"
const denying = [
  `${isVerb}\\s+${adverbs}(?:${extreme}|off\\s+by)`,
  `${isVerb}\\s+${adverbs}(?:${wrong}|${earlier})`,
  `${isVerb}\\s+${adverbs}not\\s+${right}`,
  `(?:isn['’]?t|wasn['’]?t|(?:cannot|can\\s?not|can['’]?t|could\\s?n['’]?t|could\\s+not|must\\s+not)\\s+be)\\s+${adverbs}${right}`
].join("|")

const fitting =
  "(?:actually\\s+)?(?:satisfy|match|fit|work|check\\s+out|hold|make\\s+sense|add\\s+up|agree|seem\\s+right|look\\s+right)"
const breaks =
  "(?:contradicts|violates)\\s+(?:the|our)\\s+(?:given|original|problem|condition|statement|equation|question|constraint|assumption|premise|information)s?"
/** "Fails for n = 2" may refer to a case. */
const otherwise = "(?![a-zA-Z])(?!\\s+(?:for|with|if|when|unless|to|only|option|choice|at|here)(?![a-zA-Z]))"
/** Of one value, and not of so many things: "doesn't work", "leads to a contradiction", "is extraneous". */
const excluded = `(?:(?:does\\s?n['’]?t|does\\s+not|fails\\s+to)\\s+${fitting}|fails\\s+(?:the|this|that|our|both|because|since)|${breaks}|(?:leads\\s+to|gives|yields)\\s+a\\s+contradiction|(?:is|was)\\s+(?:extraneous|invalid|impossible)|(?:is|can\\s+be|must\\s+be)\\s+(?:ruled\\s+out|rejected|discarded))${otherwise}`

/** Directly after the answer, in its own sentence. */
const own = new RegExp(
  `^[\\s$*_)\\]}"',:—–-]*(?:(?:but|which|and|however|though)[\\s,]+)?(?:(?:(?:that|this|it)\\s+)?(?:${denying})|(?:that|this|it)['’]s\\s+${adverbs}(?:${wrong}|not\\s+${right})|${excluded})(?![a-zA-Z])`,
  "i"
)
/** Like `own`, in a later clause of that sentence. */
const clause = new RegExp(
  `[,;]\\s{1,3}(?:but|and|however|though|yet|which)\\s(?:(?:(?:that|this|it)\\s)?(?:${denying})|(?:that|this|it)['’]s\\s${adverbs}(?:${wrong}|not\\s+${right}))(?![a-zA-Z])`,
  "i"
)
/** "You may think that it is 24, but it isn't." */
const briefly =
  /[,;]\s{1,3}(?:but|and|however|though|yet|which)\s(?:that|this|it)\s?(?:isn['’]?t|is\s+not|wasn['’]?t|was\s+not)[\s*_$)"']*$/i
/** Like `own`, in brackets, after a colon or a dash. */
const aside = new RegExp(
  `^[\\s$*_]*[(:—–-]\\s*(?:(?:that|this|it|which)\\s+)?(?:${denying}|${wrong}|not\\s+${right})(?![a-zA-Z])`,
  "i"
)

const interjection =
  "(?:but|wait|no|nope|hmm+|hm|oh|oops|sorry|unfortunately|sadly|alas|actually|well|hold\\s+on|however|on\\s+(?:second\\s+thought|reflection)|edit|update|apologies|ah)"
const interjections = new RegExp(`^[\\s*_>#("'—–-]*(?:${interjection}(?![a-zA-Z])[\\s,.!:…—–-]*){0,4}`, "i")

const pronoun = "(?:that|this|it)"
const answerNoun =
  "(?:the\\s+above(?!\\s+(?:answer|result|value|solution|calculation|computation|box))|(?:the|this|that|my)\\s+(?:(?:above|final|previous|earlier|initial|original|last|boxed|given|first|stated)\\s+){0,2}(?:answer|result|value|solution|calculation|computation|box)(?:\\s+(?:above|i\\s+gave|in\\s+the\\s+box))?)"
const short = `(?:${wrong}|not\\s+${right}|off\\s+by)`
const pronounDenied = new RegExp(
  `^(?:${pronoun}\\s+(?:${denying})|${pronoun}['’]s\\s+${adverbs}${short})(?![a-zA-Z])`,
  "i"
)
/** "That doesn't satisfy the equation." */
const pronounFails = new RegExp(
  `^${pronoun}\\s+(?:(?:does\\s?n['’]?t|does\\s+not|did\\s?n['’]?t|can['’]?t|cannot|fails?\\s+to)\\s+${fitting}|fails|${breaks})${otherwise}`,
  "i"
)
const answerDenied = new RegExp(`^${answerNoun}\\s+(?:${denying})(?![a-zA-Z])`, "i")
const admitted =
  /^(?:i|we)(?:['’]ve|\s+have|\s+had)?\s+(?:(?:just|clearly|probably|actually)\s+)?(?:made\s+(?:a|an|some)\s+(?:[a-z]+\s+)?(?:mistake|error|slip)s?|(?:was|am|were)\s+(?:wrong|mistaken|off\s+by)|mis(?:counted|calculated|read|understood|added|took|computed)|meant|take\s+(?:that|it)\s+back)|^i['’]m\s+(?:wrong|mistaken)|^(?:please\s+)?(?:scratch\s+that|strike\s+that|forget\s+(?:that|it|this)|never\s?mind|correction|disregard\s+(?:that|this|the\s+above)|ignore\s+(?:that|the\s+above)|there\s+(?:is|was)\s+(?:a|an)\s+(?:[a-z]{3,12}\s+)?(?:mistake|error|slip)\s+(?:in|above)|my\s+(?:mistake|bad))(?![a-zA-Z])/i

/** Another value replaces the answer. */
const replaced = new RegExp(
  `^(?:${pronoun}|(?:the|my)\\s+(?:[a-z]+\\s+){0,2}(?:answer|result|value))\\s+(?:should|must|ought\\s+to)\\s+(?:(?:actually|really|instead|rather)\\s+)?(?:be|have\\s+been|read)\\s+([^\\s].{0,40})`,
  "is"
)
const insteadOf = /^(?:it|that|the\s+answer)(?:['’]s|\s+is)\s+(?:(?:actually|really)\s+)?([-$\\\d].{0,40})/is
const meaning =
  /^[\s$*_)\]}"']*(?:(?:[,(—–→]|-{1,2})\s*|(?=or\s+rather|i\s+mean))(?:(?:no|wait|sorry|oops)[\s,]+)?(?:i\s+mean(?:t)?|make\s+that|or\s+rather|corrected|no|wait|sorry|oops)[\s,:]+([-$\\\d].{0,40})/is

const trueAnswer =
  "(?:the|my)\\s+(?:(?:correct|actual|true|real|right|proper|new|corrected)\\s+){1,2}(?:answer|value|result|solution|number|one)"
/** Start of a clause: "so the answer must be 25". */
const concluding =
  "(?:^|[,;:]\\s{1,3}|\\s[—–-]\\s)(?:(?:so|thus|hence|therefore|and|but|then|meaning|that)[\\s,]{1,3}){0,2}"
const value =
  "(?:(?:actually|really|in\\s+fact|instead|rather|then|therefore|just)\\s+){0,2}(?:equal\\s+to\\s+)?([-$\\\\\\d].{0,40})"
const concluded = new RegExp(
  `${concluding}(?:${trueAnswer}\\s+(?:is|was|should\\s+be|must\\s+be|equals)|the\\s+answer\\s+(?:must|should)\\s+be|(?:it|that)\\s+should\\s+be)\\s+${value}`,
  "is"
)
/** "However, 24 is not prime, so this fails." */
const fails = new RegExp(
  `^(?:but|however)[\\s,].*,\\s(?:so|and|but|hence|thus|therefore)\\s(?:${pronoun}|(?:the|my)\\s+answer)\\s(?:${denying}|fails|(?:does\\s?n['’]?t|does\\s+not|can['’]?t|cannot)\\s+${fitting})${otherwise}`,
  "is"
)
/** After a correcting word: "no, so it is 25", "oops, should be 25". */
const corrected = new RegExp(
  `${concluding}(?:(?:(?:it|that|the\\s+answer)(?:['’]s|\\s+is|\\s+equals)|(?:should|must)\\s+be)\\s+)${value}`,
  "is"
)
/** "I dropped a sign", after such a word. */
const slipped =
  /^(?:i|we)(?:['’]ve|\s+have|\s+had)?\s+(?:(?:just|clearly|actually)\s+)?(?:forgot(?!\s+to\s+(?:mention|say|note))|dropped|missed|overlooked|misplaced|swapped|mixed\s+up|messed\s+up|double[\s-]?counted|erred)(?![a-zA-Z])/i
const simplified = /units?(?![a-zA-Z])|for\s(?:brevity|simplicity|clarity|now)/i
const onlyValue =
  /^(?:(?:so\s+)?(?:it|that|the\s+answer)(?:['’]s|\s+is)\s+)?([-$]?\d[\d.,]{0,40}(?:\s[a-z]{2,15})?)[\s*_$.!]*$/i

const plainNumber = /^[\s$*_\\{(]*(-?[\d.,]*\d)(.{0,40})$/s

/** The significant digits of a decimal. */
const digitsOf = (decimal: string): string | undefined => {
  const [match, sign, whole = "", places = ""] = /^(-?)(\d*)(?:\.(\d*))?$/.exec(decimal.replaceAll(",", "")) ?? []
  return match === undefined || whole + places === ""
    ? undefined
    : `${sign}${whole.replace(/^0+/, "")}.${places.replace(/(?<!0)0+$/, "")}`
}

/** True if a number other than the answer, which must be one too, is stated. */
const isOtherNumber = (stated: string | undefined, answer: string): boolean => {
  const [, said = "", rest = ""] = plainNumber.exec(stated ?? "") ?? []
  const [, own = "", more = ""] = plainNumber.exec(answer) ?? []
  const [a, b] = [digitsOf(said), digitsOf(own)]
  const ends = /^[\s$*_})]*(?:[a-z]{2,15}[\s*_$]*)?(?:[.!,;:]|$|\n|\s(?:because|since|as)\s)/i.test(rest)
  return (
    a !== undefined &&
    b !== undefined &&
    a !== b &&
    ends &&
    Wording.isNeutral(rest.slice(0, 20)) &&
    /^[\s$%}\\a-zA-Z{]*$/.test(more)
  )
}

const bare = (text: string): string => text.replaceAll(/[\s$*{}\\,]|boxed|text/g, "")

/** True if a written value is not the answer. */
const isOther = (value: string, answer: string): boolean => {
  const [said, own] = [bare(value), bare(answer)]
  return /^-?\.?\d/.test(said) && !(said.startsWith(own) && !/^\.?\d/.test(said.slice(own.length)))
}

/** ", I guess", "This is just a guess" */
const guessed =
  /^[\s$*_)\]}",.(—–-]*(?:(?:i|we)(?:['’]d|\swould|['’]m|\sam)?\s(?:(?:just|only)\s)?guess(?:ing)?|(?:just|only)\s(?:a\s)?guess(?:ing)?|(?:but\s)?(?:(?:this|that|it)(?:['’]s|\sis)|is)\s(?:(?:just|only|merely)\s)?(?:a|my)\s(?:[a-z]{3,10}\s)?guess)(?![a-zA-Z])(?!\s(?:that|which)\s)/i
const crossed = /^[\s$*_)\]}.,]*[❌✗✘✖🚫]/u
/** Brackets and clauses of the answer's own sentence. */
const afterClauses = (head: string): ReadonlyArray<string> => head.split(/[,;(]\s?|\s[—–-]\s/)

const interrupts = /(?<![a-zA-Z])(?:wait|oops)(?![a-zA-Z])/i
const negates = /(?<![a-zA-Z])(?:no|nope)(?![a-zA-Z])/i
/** A sentence without more words: "Not quite." */
const onlyDenies = /^(?:not\s+quite|(?:that\s+is\s+)?(?:wrong|incorrect))[\s.!]*[.!]$/i

/** Max characters read after an answer, and of each sentence. */
const reach = 20_000
const maxSentence = 400

const sentenceEnd = /[.!?…](?=[\s*_$)"'\]}]|$)|\n/

const sentences = (text: string): ReadonlyArray<string> =>
  text
    .split(/(?<=[.!?;…])[*_$)"'\]}]*\s+|\n+|\s[—–]\s/)
    .filter((one) => /[a-zA-Z\d]/.test(one))
    .map((one) => one.slice(0, maxSentence))

/** True if an interjection announces another answer. */
const corrects = (lead: string): boolean => /[a-zA-Z]/.test(lead) && !/^\W*(?:but|well|however)\W*$/i.test(lead)

interface Context {
  /** True if the sentence directly follows the answer's own. */
  readonly isNext: boolean
  /** True if the sentence before it begins with such an interjection. */
  readonly isCorrected: boolean
}

/** True if a sentence after the answer's own takes it back. */
const takesBack = (sentence: string, answer: string, { isCorrected, isNext }: Context): boolean => {
  const lead = interjections.exec(sentence)?.[0] ?? ""
  const about = sentence
    .slice(lead.length)
    .replace(
      /^(?:(?:so|thus|hence|therefore)[\s,]+)?(?:i\s+(?:think|see|realize|realise|believe)\s+(?:that\s+)?|note\s+that\s+)?/i,
      ""
    )
  if (answerDenied.test(about) || admitted.test(about)) return true
  const isCorrecting = corrects(lead)
  const other = (replaced.exec(about) ?? (isCorrecting ? insteadOf.exec(about) : null))?.[1]
  if (other !== undefined && isOther(other, answer)) return true
  if (isOtherNumber(concluded.exec(about)?.[1], answer)) return true
  if (isOtherNumber(Replacement.intended(about), answer)) return true
  if (isOtherNumber(Replacement.offered(about), answer) || fails.test(sentence)) return true
  if (lead !== "" && slipped.test(about) && !simplified.test(about)) return true
  if (lead !== "" && isOtherNumber(Replacement.concluded(about), answer)) return true
  if (isCorrecting && Replacement.corrections(about).some((one) => isOtherNumber(one, answer))) return true
  if (isCorrecting && isOtherNumber(corrected.exec(about)?.[1], answer)) return true
  if ((isCorrecting || isCorrected) && isOtherNumber(onlyValue.exec(about)?.[1], answer)) return true
  return (
    (isNext || isCorrecting) &&
    (pronounDenied.test(about) || pronounFails.test(about) || onlyDenies.test(sentence.slice(lead.length).trimEnd()))
  )
}

/** True if `after`, the text after an answer, takes it back. */
export const follows = (after: string, answer: string): boolean => {
  const near = Tongues.inEnglish(after.slice(0, reach))
  const ends = near.slice(0, maxSentence).search(sentenceEnd)
  const head = ends === -1 ? near.slice(0, maxSentence) : near.slice(0, ends)
  const meant = meaning.exec(near.slice(0, maxSentence))?.[1]
  if ([own, aside, clause, briefly].some((one) => one.test(head)) || (meant !== undefined && isOther(meant, answer)))
    return true
  if (
    crossed.test(near) ||
    guessed.test(near) ||
    afterClauses(head).some((one) => isOtherNumber(Replacement.offered(one), answer))
  )
    return true
  const concluded = Reconsideration.conclusion(near.slice(head.length))
  if (concluded !== undefined && Reconsideration.differs(concluded, answer)) return true
  const asides = head.split(/\s[—–-]\s/).slice(1)
  if (asides.some((one) => takesBack(one, answer, { isNext: true, isCorrected: false }))) return true
  if (isOtherNumber(Replacement.asked(near.slice(head.length)), answer)) return true
  let lead = ""
  let isCorrected = false
  const all = sentences(near.slice(head.length))
  const isTakenBack = all.some((one, index) => {
    // "No! It is 25": an interjection belongs to the following sentence.
    const sentence = lead + one
    lead = interjections.exec(sentence)?.[0] === sentence ? `${sentence} ` : ""
    const isOther = takesBack(sentence, answer, { isNext: index === 0, isCorrected })
    isCorrected = corrects(interjections.exec(sentence)?.[0] ?? "")
    return isOther
  })
  // A text that ends in "No wait." has no answer; "Is there another? No." answers its question.
  const isReply = /\?[\s*_$)"']{0,9}$/.test(all.at(-2) ?? near.slice(0, head.length + 1))
  return isTakenBack || interrupts.test(lead) || (negates.test(lead) && !isReply)
}
