/**
 * Generates prompts: a task with one or several constraints that can be met together.
 *
 * A sample answer proves that they can: independent constraints are drawn, an answer is written from them, and the
 * required length is the answer's. Except for choices, every prompt requires a number of words: constraints that only
 * forbid or divide could be met by almost no text.
 */
import type { SeededRandom } from "@atropos/core"
import { Result } from "effect"
import * as Checkers from "./Checkers.ts"
import * as Combination from "./Combination.ts"
import type { Constraint } from "./Constraint.ts"
import * as Counting from "./Counting.ts"
import * as Draft from "./Draft.ts"
import * as Features from "./Features.ts"
import * as Format from "./Format.ts"
import * as Length from "./Length.ts"
import * as Stock from "./Stock.ts"

type Random = SeededRandom.SeededRandom

export interface Task {
  readonly prompt: string
  readonly constraints: ReadonlyArray<Constraint>
  /** An answer that meets all constraints. */
  readonly sample: string
}

const task = (request: string, constraints: ReadonlyArray<Constraint>, sample: string): Task => ({
  prompt: `${request}\n\n${constraints.map(({ instruction }) => `- ${instruction}`).join("\n")}`,
  constraints,
  sample
})

const contradicts = (features: ReadonlyArray<Features.Feature>): boolean => {
  const names = new Set(features.map(({ constraint }) => constraint.name))
  return Features.conflicts.some(([one, other]) => names.has(one) && names.has(other))
}

const combine = (random: Random, max: number): Task => {
  const slots = random.sample([...Object.keys(Features.slots), "sentences"], random.between(0, max - 1))
  const selected = slots.flatMap((slot) => {
    const draws = Features.slots[slot]
    return draws === undefined ? [] : [random.pick(draws)(random)]
  })
  if (contradicts(selected)) return combine(random, max)
  const draft = selected.reduce((before, { add }) => add(before), Draft.empty)
  const sample = Draft.write(draft, random.between(2, 14))
  const constraints = [
    Features.wordsOf(random, sample),
    ...(slots.includes("sentences") ? [Features.sentencesOf(random, sample)] : []),
    ...selected.map(({ constraint }) => constraint)
  ]
  return task(random.pick(Stock.tasks), random.shuffle(constraints), sample)
}

const atLeast = (N: number): Constraint => Length.wordCount.make({ N, quantifier: "at least" })

/** Constraints on the answer as a whole, which combine with no others. */
const alone = (checkers: Checkers.Checkers): ReadonlyArray<(random: Random) => Task> => [
  (random) => {
    const sample = JSON.stringify({ answer: random.sample(Stock.sentences, 6) })
    return task(random.pick(Stock.tasks), [Format.json.make({}), atLeast(random.between(10, 20))], sample)
  },
  (random) => {
    const [question, options] = random.pick(Stock.choices)
    return task(question, [Format.choice.make({ options })], random.pick(options))
  },
  (random) => {
    const request = random.pick(Stock.tasks)
    const sample = [request, ...random.sample(Stock.sentences, 6)].join(" ")
    const repeated = Combination.repeatPrompt.make({ original_prompt: request })
    const constraints = [repeated, atLeast(Counting.words(request).length + random.between(10, 20))]
    return { prompt: constraints.map(({ instruction }) => instruction).join("\n\n"), constraints, sample }
  },
  (random) => {
    const [language, sample] = random.pick(Stock.languages)
    const constraint = Checkers.decode(checkers, { func_name: "validate_response_language", language })
    const wordCount = Counting.words(sample).length
    // Some languages put no spaces between words.
    const length = wordCount < 10 ? [] : [atLeast(wordCount - random.between(0, 3))]
    return task(random.pick(Stock.tasks), [Result.getOrThrow(constraint), ...length], sample)
  }
]

const shareAlone = 0.15

export const draw =
  (checkers: Checkers.Checkers, max: number) =>
  (random: Random): Task =>
    random.chance(shareAlone) ? random.pick(alone(checkers))(random) : combine(random, max)
