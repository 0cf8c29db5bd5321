/**
 * Lists words for statements about choices: words that are understood, and words after which nothing is certain.
 *
 * Statements consist of words of closed lists: any other word makes a statement meaningless. Words that deny, doubt or
 * retract can only remove answers.
 */
import type { Token } from "./ChoiceTokens.ts"

const set = (words: string): ReadonlySet<string> => new Set(words.split(" "))

/** Phrases by their first word, longest first. */
type Phrases = ReadonlyMap<string, ReadonlyArray<ReadonlyArray<string>>>

const phrases = (list: string): Phrases => {
  const byFirst = new Map<string, Array<ReadonlyArray<string>>>()
  const split = list.split("|").map((phrase) => phrase.trim().split(" "))
  for (const phrase of split.toSorted((a, b) => b.length - a.length)) {
    const first = phrase[0] ?? ""
    byFirst.set(first, [...(byFirst.get(first) ?? []), phrase])
  }
  return byFirst
}

/** The token after a phrase that starts here. */
export const behind = (tokens: ReadonlyArray<Token>, at: number, known: Phrases): number | undefined => {
  const match = known
    .get(tokens[at]?.word ?? "")
    ?.find((phrase) => phrase.every((word, offset) => tokens[at + offset]?.word === word))
  return match && at + match.length
}

/** Meaningless before a statement. */
export const leads = phrases(
  "and|now|well|ok|okay|yes|yeah|right|alright|clearly|obviously|overall|indeed|of course|definitely|certainly|also|anyway|note that|" +
    "i think|i believe|i'd say|i would say|i say|i know|i'm sure|i am sure|i'm confident|i am confident|i feel|i guess|i am certain|i'm certain|i am certain that|i'm certain that|i conclude|" +
    "i think that|i believe that|i'd say that|i would say that|i'm sure that|i am sure that|i'm confident that|i am confident that|" +
    "i conclude that|we find|we find that|we see|we see that|we get|we know that|we conclude|we conclude that|we can conclude|" +
    "we can conclude that|we can see that|it follows that|it is clear that|it's clear that|this means|this means that|that means|" +
    "that means that|which means|which means that|this implies that|this gives|this shows that|then|sure|great|after all|" +
    "in my opinion|in other words|only|so far|if i had to guess|if i had to choose|if i had to pick|if you ask me|given this|here's|here is|-|•|>|#"
)

/** A conclusion or a correction follows. */
export const turns = phrases(
  "so|thus|therefore|hence|finally|ultimately|consequently|accordingly|ergo|in conclusion|to conclude|in summary|to summarize|" +
    "to summarise|in short|as a result|for this reason|in the end|all in all|but|actually|however|instead|rather|in fact|and so|and thus|" +
    "and therefore|conclusion :|summary :|result :|verdict :"
)

/** Retracts the previous statement; the following text, if any, replaces it. */
export const retractions = phrases(
  "no|nope|nah|wait|no wait|correction|sorry|oops|scratch that|strike that|on second thought|on reflection|never mind|nevermind|i mean|" +
    "i meant|or rather|my mistake|my bad|just kidding|kidding|hmm|hm|ignore that|forget that|disregard that|i was wrong|" +
    "i was mistaken|i am wrong|i'm wrong|i made a mistake|i made an error|i take that back|i take it back|i lied|i changed my mind|" +
    "not|not really|not quite|not exactly|not so fast|not true|not correct|not right|wrong|incorrect|false|let me recheck|" +
    "let me reconsider|let me correct myself|let me correct that|let me rethink|let me double check|let me double - check|edit :|psych|jk"
)

/** Retractions that also begin other statements ("No other option fits") and retract only on their own. */
export const weakRetractions = set("no not false wrong incorrect hmm hm sorry")

export const adverbs = set(
  "clearly obviously definitely certainly simply therefore thus hence then indeed actually just likely probably really undoubtedly " +
    "surely exactly still always most evidently therefore, best of course"
)

export const determiners = set("the my our")

export const qualities = set(
  "final correct best right most likely appropriate suitable accurate plausible probable overall chosen only single proper valid logical " +
    "reasonable expected more"
)

/** Nouns that mean an answer alone, and those that do with a quality ("the correct option"). */
export const answerNouns = set("answer answers ans pick selection response verdict solution result")
export const choiceNouns = set("choice option alternative statement one letter conclusion guess")

export const prepositions = set("to for of here in among from on")

export const pronouns = set("it that this which")
export const shortened = set("it's that's this's")

export const copulas = set("is are equals becomes remains answer's")
export const marks = set(": = -> => → ⇒")
export const modals = set("must should would will can has have ought going seems appears turns shall")
export const modalFillers = set("to only then therefore thus out have going is")

export const speakers = set("i we i'll i'd i'm we'll we'd let's you")
export const choosing = set(
  "choose pick select answer go going opt vote settle chose picked selected choosing picking selecting"
)
export const choosingFillers = set(
  "will would must can should have to am shall therefore thus then confidently definitely hereby now"
)
export const choosingPrepositions = set("with for on to that it it's is as my the us be")

/** "We can rule out A." */
export const excluding = set(
  "eliminate exclude discard reject dismiss rule cross eliminating excluding discarding rejecting ruling"
)
export const excludingFillers = set("out off options option choices answers answer the both all")

export const fitting = set("fits matches works remains holds wins")
export const leaving = set("leaves leaving leave")
export const leavingFillers = set("us me only just with")

export const judged = set("correct right best answer choice option one it pick it. only valid")

/** Denies, or invalidates its context. */
const denials = set(
  "not no never nor neither none nothing nobody cannot wrong incorrect incorrectly false falsely mistaken mistake mistakes untrue " +
    "distractor distractors invalid error impossible unlikely doubt doubtful except excluding excluded exclude eliminate eliminated reject rejected rule ruled " +
    "hardly barely kidding joking joke lie lied misleading trap out isnt cant wouldnt dont doesnt without instead disagree deny denied"
)
export const denies = ({ word }: Token): boolean => denials.has(word) || word.endsWith("n't")

/** The following text is conditional, or attributed to another speaker. */
const conditions = set(
  "if unless whether suppose supposing assume assuming imagine pretend perhaps maybe possibly say says said claim claims claimed thinks " +
    "thought argue argues argued believes believed people others someone somebody students student they he she had myth"
)
export const depends = ({ word }: Token): boolean => denials.has(word) || word.endsWith("n't") || conditions.has(word)

/** Begin clauses of reason or contrast: what they deny is not the main statement. */
export const subordinators = set(
  "because since as though although while whereas despite unlike given after when even where for due"
)

/** Begin clauses that describe what they follow. */
export const relatives = set("which who whose where")

/** Words that begin a new clause. */
export const conjunctions = set(
  "but so therefore thus hence because since although though while whereas and however yet unless if"
)

/** After a named choice: leaves the statement open. */
export const opening = set(
  "or if unless until is was were are isn't aren't wasn't could couldn't may might would wouldn't can can't cannot won't will assuming " +
    "provided except than has that looks seems appears remains fits matches works makes"
)

/** After a second choice: it is the subject of another statement, not part of a list. */
export const verbs = set(
  "is isn't was wasn't can can't cannot could couldn't would wouldn't won't will has hasn't does doesn't seems may might must fails fits"
)
