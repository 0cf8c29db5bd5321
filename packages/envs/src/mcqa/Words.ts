/** Questions about words and letters: spelling, order, meaning. */
import { words } from "../letters/Words.ts"
import type { Draw, Random } from "./Question.ts"

const shortWords = words.filter((word) => word.length >= 4 && word.length <= 9)
const alphabet = Array.from("abcdefghijklmnopqrstuvwxyz")
const quoted = (text: string): string => `"${text}"`

const occurrences = (word: string, letter: string): number => word.split(letter).length - 1

/** The word with a given number of a letter, among words of the same length with more or fewer. */
export const letterCount: Draw = (random, choices) => {
  for (;;) {
    const right = random.pick(shortWords)
    const letter = random.pick(Array.from(right))
    const times = occurrences(right, letter)
    const others = shortWords.filter((word) => word.length === right.length && occurrences(word, letter) !== times)
    // Words that contain the letter are the harder ones.
    const [some, none] = [
      others.filter((word) => word.includes(letter)),
      others.filter((word) => !word.includes(letter))
    ]
    const wrong = [...random.sample(some, random.between(1, choices - 1)), ...random.shuffle(none)].slice(
      0,
      choices - 1
    )
    if (wrong.length < choices - 1) continue
    return {
      question: `In which of these words does the letter ${quoted(letter)} occur exactly ${times === 1 ? "once" : `${times} times`}?`,
      compact: `${times}${letter}`,
      right,
      wrong
    }
  }
}

/** Other letters: those of the word first, then of the alphabet. */
const otherLetters = (random: Random, right: string, word: string, count: number): ReadonlyArray<string> => {
  const own = new Set(random.shuffle(Array.from(word)))
  return Array.from(new Set([...own, ...random.shuffle(alphabet)]))
    .filter((letter) => letter !== right)
    .slice(0, count)
}

// In words, so that a choice "b" is never taken for the choice labelled B.
const formatLetter = (letter: string): string => `the letter ${quoted(letter)}`

export const letterAt: Draw = (random, choices) => {
  const word = random.pick(shortWords)
  const place = random.between(1, word.length)
  const right = word[place - 1]!
  return {
    question: `Which letter is number ${place} of the word ${quoted(word)}?`,
    compact: `${word}@${place}`,
    right,
    wrong: otherLetters(random, right, word, choices - 1),
    format: formatLetter
  }
}

/** The letter some positions after another in the alphabet. */
export const alphabetLetter: Draw = (random, choices) => {
  const distance = random.between(1, 5)
  const from = random.between(0, 25 - distance)
  const right = alphabet[from + distance]!
  const around = alphabet.slice(Math.max(0, from - 3), from + distance + 4).join("")
  return {
    question: `Which letter comes ${distance === 1 ? "right" : `${distance} places`} after ${quoted(alphabet[from]!)} in the alphabet?`,
    compact: `${alphabet[from]}+${distance}`,
    right,
    wrong: otherLetters(random, right, around, choices - 1),
    format: formatLetter
  }
}

const swapped = (random: Random, word: string): string => {
  for (;;) {
    const letters = Array.from(word)
    const [from, to] = random.sample(Array.from(letters.keys()), 2)
    const moved = letters[from!]!
    letters[from!] = letters[to!]!
    letters[to!] = moved
    const changed = letters.join("")
    if (changed !== word) return changed
  }
}

/**
 * A word backwards, among the same letters in other orders. All but one are a swap away from that one, which is the
 * right one no more often than any other: their similarity reveals nothing.
 */
export const backwards: Draw = (random, choices) => {
  const word = random.pick(shortWords.filter((one) => new Set(one).size >= 4))
  const right = Array.from(word).toReversed().join("")
  const center = random.between(1, choices) === 1 ? right : swapped(random, right)
  const wrong = new Set(center === right ? [] : [center])
  while (wrong.size < choices - 1) {
    const other = swapped(random, center)
    if (other !== right) wrong.add(other)
  }
  return {
    question: `What is the word ${quoted(word)} backwards?`,
    compact: `${word}<`,
    right,
    wrong: Array.from(wrong)
  }
}

/** The word that comes first, or last, in a dictionary. */
export const dictionary: Draw = (random, choices) => {
  const sorted = random.sample(shortWords, choices).toSorted()
  const wantsFirst = random.chance(0.5)
  const [right, ...wrong] = wantsFirst ? sorted : sorted.toReversed()
  return {
    question: `Which of these words comes ${wantsFirst ? "first" : "last"} in a dictionary?`,
    compact: wantsFirst ? "first" : "last",
    right: right!,
    wrong
  }
}

const kinds: ReadonlyArray<readonly [what: string, names: ReadonlyArray<string>]> = [
  ["an animal", "horse tiger rabbit eagle salmon spider goat beaver lizard whale".split(" ")],
  ["a fruit", "apple banana cherry lemon grape mango peach pear plum melon".split(" ")],
  ["a tool", "hammer saw drill pliers wrench chisel shovel screwdriver rake axe".split(" ")],
  ["a piece of furniture", "chair table sofa desk wardrobe shelf bed stool cupboard bench".split(" ")],
  ["a musical instrument", "violin flute trumpet piano drum guitar harp cello clarinet banjo".split(" ")],
  ["a part of the body", "elbow knee ankle shoulder finger nose chin wrist thumb heel".split(" ")],
  ["something to wear", "shirt scarf glove jacket sock hat coat trousers sweater apron".split(" ")],
  ["a vehicle", "bicycle tram truck bus ferry tractor helicopter canoe scooter van".split(" ")],
  ["a metal", "lithium copper silver gold zinc tin nickel lead aluminium titanium".split(" ")],
  ["a planet", "mercury venus mars jupiter saturn uranus neptune".split(" ")]
]

/** The only thing that is, or is not, of a kind. */
export const kindOf: Draw = (random, choices) => {
  const [[what, members], [, others]] = random.sample(kinds, 2) as [(typeof kinds)[number], (typeof kinds)[number]]
  const isMember = random.chance(0.5)
  // Mercury is a planet and a metal, so it is never used.
  const [own, foreign] = [members, others].map((names) => names.filter((name) => name !== "mercury"))
  const [from, rest] = isMember ? [own!, foreign!] : [foreign!, own!]
  return {
    question: `Which of these is ${isMember ? "" : "not "}${what}?`,
    compact: `${isMember ? "is" : "not"}:${what.split(" ").at(-1)}`,
    right: random.pick(from),
    wrong: random.sample(rest, choices - 1)
  }
}
