/**
 * Students' answers to arithmetic stories, good and bad, on which the bundled model is pretrained.
 *
 * The hasty ones repeat the last number of the story; some stop before the last step; the rest go step by step, with
 * occasional slips. A fifth of all forget to give the answer. So the right method occurs, but rarely if most are hasty:
 * using it more is left to reinforcement learning.
 */
import type { SeededRandom } from "@atropos/core"

/** The effect of a step on the running total. */
type Step =
  | { readonly kind: "add" | "takeAway"; readonly number: number }
  | { readonly kind: "bags"; readonly bags: number; readonly each: number }
  | { readonly kind: "double" }

interface Problem {
  readonly start: number
  readonly steps: ReadonlyArray<Step>
}

/** Of 100 students that are not hasty. */
const stoppers = 30
/** Of 100 steps. */
const slips = 10
/** Of 100 students. */
const forgetful = 20

export const numbersIn = (sentence: string): ReadonlyArray<number> => (sentence.match(/\d+/g) ?? []).map(Number)

const stepOf = (sentence: string): Step => {
  const [first = 0, second = 0] = numbersIn(sentence)
  if (sentence.includes(" finds ")) return { kind: "add", number: first }
  if (sentence.includes(" buys ")) return { kind: "bags", bags: first, each: second }
  if (sentence.includes(" gives away ")) return { kind: "takeAway", number: first }
  return { kind: "double" }
}

/** Parses a question of the environment `arithmetic-stories`. */
export const read = (question: string): Problem => {
  const [opening = "", ...rest] = question.split(". ")
  return { start: numbersIn(opening)[0]!, steps: rest.slice(0, -1).map(stepOf) }
}

/** The sums of a step, and the resulting total. */
const work = (total: number, step: Step): { readonly sums: string; readonly total: number } => {
  switch (step.kind) {
    case "add":
      return { sums: `${total}+${step.number}=${total + step.number}.`, total: total + step.number }
    case "takeAway":
      return { sums: `${total}-${step.number}=${total - step.number}.`, total: total - step.number }
    case "double":
      return { sums: `${total}+${total}=${2 * total}.`, total: 2 * total }
    case "bags": {
      const bought = step.bags * step.each
      return {
        sums: `${step.bags}x${step.each}=${bought}. ${total}+${bought}=${total + bought}.`,
        total: total + bought
      }
    }
  }
}

export const sum = (total: number, step: Step): string => {
  switch (step.kind) {
    case "add":
      return `${total}+${step.number}`
    case "takeAway":
      return `${total}-${step.number}`
    case "double":
      return `${total}+${total}`
    case "bags":
      return `${total}+${step.bags}x${step.each}`
  }
}

/** A step mistaken for another one. */
const mistaken = (step: Step, total: number): Step => {
  switch (step.kind) {
    case "add":
      return step.number <= total ? { kind: "takeAway", number: step.number } : { kind: "double" }
    case "takeAway":
      return { kind: "add", number: step.number }
    case "bags":
      return { kind: "add", number: step.each }
    case "double":
      return { kind: "add", number: 2 }
  }
}

/** The step, or occasionally a mistaken one. */
export const slipped = (random: SeededRandom.SeededRandom, step: Step, total: number): Step =>
  random.between(1, 100) <= slips ? mistaken(step, total) : step

export const ending = (random: SeededRandom.SeededRandom, answer: number, steps: number): string =>
  random.between(1, 100) <= forgetful ? ` That took ${steps} steps.` : ` The answer is \\boxed{${answer}}.`

/** A student's answer; `hasty` of 100 students are hasty. */
export const answer = (random: SeededRandom.SeededRandom, question: string, hasty: number): string => {
  const { start, steps } = read(question)
  if (random.between(1, 100) <= hasty) {
    const last = numbersIn(question).at(-1)!
    return `The last number is ${last}.${ending(random, last, steps.length)}`
  }
  const isStopper = steps.length > 1 && random.between(1, 100) <= stoppers
  let total = start
  const texts = (isStopper ? steps.slice(0, -1) : steps).map((step) => {
    const worked = work(total, slipped(random, step, total))
    total = worked.total
    return worked.sums
  })
  return texts.join(" ") + ending(random, total, steps.length)
}
