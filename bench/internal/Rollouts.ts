/**
 * Groups of rollouts with chats, generated from a seed: a question and answers of a few hundred words each, from a
 * vocabulary with few frequent and many rare words, with tokens (one per word), logprobs and scores.
 */
import { type Message, type ScoredGroup, Trajectory } from "@atropos/core"

export interface Shape {
  readonly sequences: number
  /** Words of an answer, on average. */
  readonly words: number
}

/** Numbers from 0 to 1, deterministic in the seed. */
export const generator = (seed: number): (() => number) => {
  let state = Math.imul(seed + 1, 2654435761) >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

const beginnings = [
  "b",
  "br",
  "c",
  "d",
  "dr",
  "f",
  "g",
  "gl",
  "h",
  "k",
  "l",
  "m",
  "n",
  "p",
  "pr",
  "r",
  "s",
  "st",
  "t",
  "v"
]
const middles = ["a", "e", "i", "o", "u", "ai", "ea", "ou"]
const ends = ["", "l", "m", "n", "r", "s", "t", "nd"]
const syllables = beginnings.flatMap((beginning) =>
  middles.flatMap((middle) => ends.map((end) => beginning + middle + end))
)

const frequent =
  "the of and to is a in that we it so for as are be this then number sum equal let first answer step if".split(" ")

/** The words by their token ids. */
export const vocabulary: ReadonlyArray<string> = Array.from({ length: 20_000 }, (_, id) =>
  id < frequent.length
    ? frequent[id]!
    : `${syllables[(id * 7) % syllables.length]!}${syllables[Math.floor(id / 3) % syllables.length]!}`
)

/** A word's id, by Zipf's law. */
const pick = (next: () => number): number =>
  Math.min(vocabulary.length - 1, Math.floor(vocabulary.length ** next()) - 1)

const textOf = (ids: ArrayLike<number>): string => Array.from(ids, (id) => vocabulary[id]).join(" ")

const system: Message.Message = {
  role: "system",
  content: "Think step by step, then give the final number in \\boxed{}."
}

/** Group number `seed`; its question is `question <seed>`, and one in four of its answers is boxed and right. */
export const group = ({ sequences, words }: Shape, seed: number): ScoredGroup.ScoredGroup => {
  const next = generator(seed)
  const prompt = Int32Array.from({ length: 20 + Math.floor(next() * 20) }, () => pick(next))
  const question: Message.Message = { role: "user", content: `Question ${seed}: ${textOf(prompt)}?` }
  const answers = Array.from({ length: sequences }, () =>
    Int32Array.from({ length: Math.floor(words * (0.5 + next())) }, () => pick(next))
  )
  const scores = answers.map(() => (next() < 0.25 ? 1 : 0))
  const tokens = answers.map((answer) => Int32Array.from([...prompt, ...answer]))
  return {
    tokens,
    masks: tokens.map(({ length }) => Trajectory.maskFrom(prompt.length, length)),
    scores: Float64Array.from(scores),
    inferenceLogprobs: tokens.map((ids) =>
      Float32Array.from(ids, (_, t) =>
        t < prompt.length ? Trajectory.notSampled : -Math.round(next() * 50_000) / 10_000
      )
    ),
    messages: answers.map((answer, i) => [
      system,
      question,
      {
        role: "assistant",
        content: `${textOf(answer)}. \\boxed{${scores[i] === 1 ? seed : seed + 1 + Math.floor(next() * 9)}}`
      }
    ]),
    policyVersions: answers.map(() => Math.floor(seed / 8))
  }
}
