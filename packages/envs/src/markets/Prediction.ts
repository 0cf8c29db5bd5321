/** Parses and scores an answer's prediction of a metric. Pure. */
import { type RewardComponents } from "@atropos/core"
import * as NumberAnswer from "../verify/Number.ts"
import * as Thinking from "../kit/Thinking.ts"
import type { Direction, Report } from "./Statements.ts"

const escape = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")

export interface Prediction {
  readonly direction: Direction
  readonly magnitude: number
}

/** Characters allowed around the sentence on its line. */
const edge = String.raw`[\s"'“”*_.>-]{0,20}`

/**
 * The prediction of a completion: after the thinking, exactly one sentence of the requested format, at the end. A
 * quoted ("It is not so that the …") or retracted sentence does not count, nor does a raise by a negative number.
 */
export const predictionOf = (metric: string, completion: string): Prediction | undefined => {
  const sentence = new RegExp(
    `The ${escape(metric)} will be:\\s{0,9}(maintained|raised|reduced)\\s{1,9}and the magnitude will be:\\s{0,9}([-+]?\\d{1,6}(?:\\.\\d{1,6})?)\\s?%`,
    "gi"
  )
  const text = NumberAnswer.asciiSigns(Thinking.visibleText(completion)).trim()
  const [match, ...more] = text.matchAll(sentence)
  if (match === undefined || more.length > 0) return undefined
  const [whole, direction, magnitude] = match
  const isOwn = new RegExp(`(?:^|[\\n.!?:])${edge}$`).test(text.slice(0, match.index).slice(-30))
  const isLast = new RegExp(`^${edge}$`).test(text.slice(match.index + whole.length))
  const isContradiction = direction?.toLowerCase() === "raised" && magnitude?.startsWith("-") === true
  return direction === undefined || magnitude === undefined || !isOwn || !isLast || isContradiction
    ? undefined
    : {
        // The pattern matches only directions.
        direction: direction.toLowerCase() as Direction,
        magnitude: Math.abs(Number(magnitude))
      }
}

const grades = [
  [0, 1],
  [1, 0.9],
  [5, 0.7],
  [10, 0.5],
  [20, 0.3]
] as const

/** The grade of a magnitude by its distance from the real one, 0 to 1. */
export const gradeOf = (difference: number): number =>
  grades.find(([atMost]) => Math.abs(difference) <= atMost + 1e-9)?.[1] ?? 0

/** -1 for a wrong direction; 0.5 for the right one, and up to 0.5 more for the magnitude. */
export const rule: RewardComponents.Rule = { weights: { direction: 1.5, magnitude: 0.5 }, base: -1 }

/** Scores a completion: the direction, and the grade of its magnitude if that is right. */
export const judge = (
  { direction, magnitude, metric }: Report,
  completion: string
): { readonly direction: number; readonly magnitude: number } => {
  const predicted = predictionOf(metric, completion)
  return predicted?.direction === direction
    ? { direction: 1, magnitude: gradeOf(predicted.magnitude - magnitude) }
    : { direction: 0, magnitude: 0 }
}
