/**
 * Finds phrases linked to high scores: n-grams more frequent in answers above their group's mean than in others, and
 * not less frequent in late answers than in early ones. Pure. Counts answers that contain a phrase, not occurrences. A
 * phrase is only counted if its two sub-phrases are frequent, so that long answers stay cheap.
 */
import * as RolloutText from "@atropos/api/rollout/RolloutText"

export interface Answer {
  readonly text: string
  /** True if its score is above the mean of its group. */
  readonly isBetter: boolean
  readonly isLate: boolean
}

export interface Phrase {
  readonly text: string
  readonly answers: number
  /** Shares of the answers that contain it. */
  readonly better: number
  readonly worse: number
  readonly early: number
  readonly late: number
  /** Difference of the shares in better and worse answers, in standard errors. */
  readonly sureness: number
}

const longest = 8
const fewest = 5
const surest = 3
const mostWords = 800

interface Count {
  better: number
  worse: number
  early: number
  late: number
}

const countOf = (answers: ReadonlyArray<Answer>): Count => ({
  better: answers.filter(({ isBetter }) => isBetter).length,
  worse: answers.filter(({ isBetter }) => !isBetter).length,
  early: answers.filter(({ isLate }) => !isLate).length,
  late: answers.filter(({ isLate }) => isLate).length
})

/** Assigns consecutive numbers from 0 to distinct keys. */
const numbering = () => {
  const numbers = new Map<string | number, number>()
  return (key: string | number): number => {
    const known = numbers.get(key)
    if (known !== undefined) return known
    numbers.set(key, numbers.size)
    return numbers.size - 1
  }
}

/**
 * Phrases of one length: which one starts at each position of each answer (-1: none), and how many answers contain
 * each.
 */
interface Level {
  readonly places: ReadonlyArray<Int32Array>
  readonly counts: ReadonlyArray<Count>
  /** An example position of each. */
  readonly found: ReadonlyArray<readonly [answer: number, place: number]>
}

/** Counts each phrase once per answer, and drops rare ones. */
const counted = (answers: ReadonlyArray<Answer>, places: ReadonlyArray<Int32Array>): Level => {
  const counts: Array<Count> = []
  const found: Array<readonly [number, number]> = []
  const last: Array<number> = []
  for (const [answer, row] of places.entries()) {
    const { isBetter, isLate } = answers[answer]!
    for (const [place, phrase] of row.entries()) {
      if (phrase < 0 || last[phrase] === answer) continue
      last[phrase] = answer
      found[phrase] ??= [answer, place]
      const own = (counts[phrase] ??= { better: 0, worse: 0, early: 0, late: 0 })
      own[isBetter ? "better" : "worse"]++
      own[isLate ? "late" : "early"]++
    }
  }
  const isFrequent = counts.map(({ better, worse }) => better + worse >= fewest)
  return {
    places: places.map((row) => row.map((phrase) => (isFrequent[phrase] === true ? phrase : -1))),
    counts,
    found
  }
}

/** Phrases one word longer: two overlapping frequent ones. */
const longer = (answers: ReadonlyArray<Answer>, { counts, places }: Level): Level => {
  const numberOf = numbering()
  return counted(
    answers,
    places.map((row) =>
      Int32Array.from(row, (first, at) => {
        const second = row[at + 1] ?? -1
        return first < 0 || second < 0 ? -1 : numberOf(first * counts.length + second)
      })
    )
  )
}

const share = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole)

const phraseOf = (text: string, { better, early, late, worse }: Count, all: Count): Phrase => {
  const pooled = share(better + worse, all.better + all.worse)
  const error = Math.sqrt(pooled * (1 - pooled) * (1 / Math.max(1, all.better) + 1 / Math.max(1, all.worse)))
  const shares = { better: share(better, all.better), worse: share(worse, all.worse) }
  return {
    text,
    answers: better + worse,
    ...shares,
    early: share(early, all.early),
    late: share(late, all.late),
    sureness: error === 0 ? 0 : (shares.better - shares.worse) / error
  }
}

/** Min consecutive words two equivalent phrases share. */
const shared = 3

/** True if a phrase overlaps another that about as many answers contain. */
const isToldBy = (phrase: Phrase, other: Phrase): boolean => {
  if (phrase.answers > 1.2 * other.answers || other.answers > 1.2 * phrase.answers) return false
  const words = phrase.text.split(" ")
  const size = Math.min(shared, words.length)
  return Array.from({ length: words.length - size + 1 }, (_, at) => words.slice(at, at + size).join(" ")).some((part) =>
    ` ${other.text} `.includes(` ${part} `)
  )
}

/** Largest difference first, then the longest; equivalent phrases are dropped. */
export const find = (answers: ReadonlyArray<Answer>, max = 30): ReadonlyArray<Phrase> => {
  const words = answers.map(({ text }) => RolloutText.wordsOf(text).slice(0, mostWords))
  const numberOf = numbering()
  const all = countOf(answers)
  const rising: Array<Phrase> = []
  let level = counted(
    answers,
    words.map((row) => Int32Array.from(row, (word) => numberOf(word)))
  )
  for (let size = 1; size <= longest; size++) {
    for (const [phrase, own] of level.counts.entries()) {
      if (own.better + own.worse < fewest) continue
      const [answer, place] = level.found[phrase]!
      const shares = phraseOf(words[answer]!.slice(place, place + size).join(" "), own, all)
      if (shares.sureness >= surest && shares.late >= shares.early) rising.push(shares)
    }
    level = longer(answers, level)
  }
  const kept: Array<Phrase> = []
  // Limited, since each is compared with all kept ones.
  const candidates = rising
    .sort((left, right) => right.sureness - left.sureness || right.text.length - left.text.length)
    .slice(0, 40 * max)
  for (const phrase of candidates) {
    if (kept.length < max && !kept.some((other) => isToldBy(phrase, other))) kept.push(phrase)
  }
  return kept
}

export const rule = `A phrase is in at least ${fewest} answers, and its shares in better and other answers differ by ${surest} standard errors or more.`
