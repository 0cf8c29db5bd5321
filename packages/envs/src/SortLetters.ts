/**
 * Sorts the letters of a short word: `cjhb=` is answered by `bchj` and the end of the sequence.
 *
 * Small enough to train a model from scratch in seconds, without downloads: the task of `npm start`. Reward 1 for the
 * exact answer, else 0. 10,000 words by default, a tenth of them held out; the limits of the settings leave enough of
 * both.
 */
import { Environment, SeededRandom, ServerManager } from "@atropos/core"
import * as ExactAnswer from "./kit/ExactAnswer.ts"
import { Effect, Schema } from "effect"

const alphabet = "abcdefghijklmnopqrstuvwxyz"

export const settings = Environment.settings({
  seed: Environment.field(Schema.Int, 0, "random seed for the words"),
  letters: Environment.field(Schema.Int.check(Schema.isBetween({ minimum: 3, maximum: 12 })), 4, "letters per word"),
  alphabetSize: Environment.field(
    Schema.Int.check(Schema.isBetween({ minimum: 5, maximum: 26 })),
    10,
    "how many letters of the alphabet to draw from, starting at a"
  ),
  evaluationItems: Environment.field(Schema.Int.check(Schema.isGreaterThan(0)), 128, "held-out words per evaluation"),
  temperature: Environment.field(Environment.nonNegative, 1, "sampling temperature for training rollouts")
})

interface WordOptions {
  readonly letters: number
  readonly alphabetSize: number
}

/** The vocabulary of this task. */
export const characters = ({ alphabetSize }: Pick<WordOptions, "alphabetSize">): string =>
  `${alphabet.slice(0, alphabetSize)}=`

const draw =
  ({ alphabetSize, letters }: WordOptions) =>
  (random: SeededRandom.SeededRandom): ExactAnswer.Question => {
    const word = Array.from({ length: letters }, () => alphabet[random.between(0, alphabetSize - 1)]!)
    return { prompt: `${word.join("")}=`, answer: word.toSorted().join("") }
  }

/** The letters of a word in random order: teaches the format and to copy letters; the order is left to the reward. */
export const demonstration = (
  options: WordOptions & { readonly seed: number; readonly index: number }
): ExactAnswer.Demonstration => {
  const { prompt } = ExactAnswer.questionAt(draw(options), options.seed, options.index)
  const random = SeededRandom.seeded(options.seed + 1, options.index)
  const left = Array.from(prompt.slice(0, -1))
  let completion = ""
  while (left.length > 0) completion += left.splice(random.between(0, left.length - 1), 1)[0]!
  return { prompt, completion }
}

export const layer = Environment.layer("sort-letters", settings, (selected) =>
  Effect.map(ServerManager.ServerManager, (servers) =>
    ExactAnswer.definition(servers, {
      ...selected,
      draw: draw(selected),
      wrong: ({ answer, prompt }) => ["", `${answer}${answer[0]!}`, answer.slice(1), `${prompt}${answer}`]
    })
  )
)
