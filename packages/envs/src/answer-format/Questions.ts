/**
 * Generates short questions with short answers, to be asked in a format: about words, sums, small programs, or with
 * four choices.
 */
import type { SeededRandom } from "@atropos/core"
import { words } from "../letters/Words.ts"
import type { Domain } from "./Rule.ts"

export interface Question {
  readonly question: string
  readonly gold: string
}

type Draw = (random: SeededRandom.SeededRandom) => Question

const aboutWords: ReadonlyArray<Draw> = [
  (random) => {
    const word = random.pick(words)
    return { question: `How many letters does the word "${word}" have?`, gold: String(word.length) }
  },
  (random) => {
    const some = random.sample(words, 4)
    return {
      question: `Which of these words comes first in the dictionary: ${some.join(", ")}?`,
      gold: some.toSorted()[0]!
    }
  },
  (random) => {
    const word = random.pick(words)
    const isLast = random.chance(0.5)
    return {
      question: `What is the ${isLast ? "last" : "first"} letter of the word "${word}"?`,
      gold: isLast ? word.at(-1)! : word[0]!
    }
  }
]

const sums: ReadonlyArray<Draw> = [
  (random) => {
    const [a, b] = [random.between(10, 99), random.between(10, 99)]
    return { question: `What is ${a} + ${b}?`, gold: String(a + b) }
  },
  (random) => {
    const [a, b] = [random.between(3, 19), random.between(3, 12)]
    return { question: `What is ${a} times ${b}?`, gold: String(a * b) }
  },
  (random) => {
    const [first, step] = [random.between(1, 40), random.between(2, 12)]
    const terms = [0, 1, 2, 3].map((index) => first + index * step)
    return { question: `Which number comes next: ${terms.join(", ")}, …?`, gold: String(first + 4 * step) }
  }
]

const programs: ReadonlyArray<Draw> = [
  (random) => {
    const [a, b, c] = [random.between(2, 20), random.between(2, 9), random.between(1, 30)]
    return { question: `What does this Python program print?\n\nprint(${a} * ${b} - ${c})`, gold: String(a * b - c) }
  },
  (random) => {
    const word = random.pick(words)
    const from = random.between(0, 2)
    return {
      question: `What does this Python program print?\n\nprint(len("${word}"[${from}:]))`,
      gold: String(word.length - from)
    }
  }
]

const ofDomain: { readonly [domain in Domain]: ReadonlyArray<Draw> } = { any: aboutWords, math: sums, code: programs }

export const draw = (domain: Domain, random: SeededRandom.SeededRandom): Question =>
  random.pick(ofDomain[domain])(random)

/** A question that is answered by a letter from A to D. */
export const choice = (random: SeededRandom.SeededRandom): Question => {
  const lengths = new Map(random.shuffle(words).map((word) => [word.length, word]))
  const some = random.sample(Array.from(lengths.values()), 4)
  const longest = some.reduce((one, other) => (other.length > one.length ? other : one))
  const letters = ["A", "B", "C", "D"]
  const listed = some.map((word, at) => `${letters[at]!}. ${word}`).join("\n")
  return { question: `Which of these words is the longest?\n${listed}`, gold: letters[some.indexOf(longest)]! }
}
