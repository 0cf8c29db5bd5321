/**
 * Penalizes repetition: sentences, words, phrases, stutters, sentence beginnings.
 *
 * Range [-1, 0]; 0 is no repetition. Source: repetition_penalty_reward.py of the original.
 */
import * as Reward from "./Reward.ts"

export interface RepetitionOptions {
  /** Maximum repetition score without a penalty. */
  readonly threshold?: number
  readonly minWords?: number
  readonly minSentences?: number
  /** Penalty of a text too short to judge. */
  readonly shortTextPenalty?: number
  /** Base penalty of a text with repeated whole sentences, to which their share is added. */
  readonly sentencePenalty?: number
}

const word = /[\p{L}\p{N}_]+/gu
const sentenceEnd = /[.!?]/
const shares = { words: 0.3, phrases: 0.4, stutters: 0.6, beginnings: 0.5 }
const smallestPenalty = -0.1
const commonWords = new Set(
  (
    "this that with from what when where which who whom whose will shall should would could have has had been being than then " +
    "there these those their"
  ).split(" ")
)

export const repetitionPenalty = ({
  minSentences = 2,
  minWords = 10,
  sentencePenalty = -0.6,
  shortTextPenalty = -0.1,
  threshold = 0.05
}: RepetitionOptions = {}): Reward.Reward =>
  Reward.make("repetition_penalty", (completion) => {
    const words = completion.toLowerCase().match(word) ?? []
    const sentences = completion
      .split(sentenceEnd)
      .map((sentence) => sentence.trim())
      .filter((sentence) => sentence !== "")
    if (words.length < minWords || sentences.length < minSentences) return shortTextPenalty

    const repeatedSentences = repeats(counts(sentences.filter((sentence) => sentence.split(/\s+/).length > 3)))
    if (repeatedSentences > 0) return sentencePenalty - 0.4 * Math.min(1, repeatedSentences / sentences.length)

    const score =
      (shares.words * repeatedContentWords(words)) / words.length +
      (shares.phrases * repeatedPhrases(words)) / words.length +
      (shares.stutters * stutters(words)) / words.length +
      (shares.beginnings * repeatedBeginnings(sentences)) / sentences.length
    if (score <= threshold) return 0
    return Math.min(smallestPenalty, -Math.min(1, (score - threshold) / (1 - threshold)))
  })

const counts = (values: ReadonlyArray<string>): Map<string, number> => {
  const byValue = new Map<string, number>()
  for (const value of values) byValue.set(value, (byValue.get(value) ?? 0) + 1)
  return byValue
}

/** Occurrences beyond the first, of values that occur at least `min` times. */
const repeats = (byValue: ReadonlyMap<string, number>, min = 2): number => {
  let total = 0
  for (const count of byValue.values()) if (count >= min) total += count - 1
  return total
}

const repeatedContentWords = (words: ReadonlyArray<string>): number =>
  repeats(counts(words.filter((one) => one.length > 3 && !commonWords.has(one))), 3)

/** Repeated runs of 3, 4 and 5 words, with more weight for longer ones. */
const repeatedPhrases = (words: ReadonlyArray<string>): number =>
  [3, 4, 5].reduce((sum, length) => {
    const phrases = Array.from({ length: Math.max(0, words.length - length + 1) }, (_, start) =>
      words.slice(start, start + length).join(" ")
    )
    return sum + (length / 3) * repeats(counts(phrases))
  }, 0)

const stutters = (words: ReadonlyArray<string>): number =>
  words.filter((one, index) => index > 0 && one === words[index - 1] && one.length > 2).length

const repeatedBeginnings = (sentences: ReadonlyArray<string>): number =>
  repeats(
    counts(
      sentences
        .map((sentence) => sentence.split(/\s+/))
        .filter((words) => words.length >= 3)
        .map((words) => words.slice(0, 3).join(" "))
    )
  )
