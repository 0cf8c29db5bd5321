/**
 * Aggregates rows of groups by environment and step for the signs of reward hacking. Pure. Lengths and scores are
 * compared within groups, as differences from the group mean, so that hard items with long answers have no effect.
 * Truncated answers, the longest of a group, have no natural length and are excluded there. Rows without per-rollout
 * metrics (not read yet) are skipped.
 */
import * as Health from "@atropos/core/health/Health"
import { itemOf } from "../source/RowFilter.ts"
import type * as Wire from "../source/Wire.ts"

/** The source of groups without an environment name. */
export const unnamed = "trainer"

/** Prefix of the fingerprint of an answer that matches the expected one (`GroupFigures`). */
const expected = "="

interface Sum {
  sum: number
  count: number
}

interface Step {
  readonly source: string
  readonly step: number
  readonly at: number
  readonly lengths: Array<number>
  /** Differences from the means of their groups. */
  readonly ownLengths: Array<number>
  readonly ownScores: Array<number>
  /** By answer. */
  readonly answers: Map<string, { rollouts: number; readonly items: Set<string> }>
  answerCount: number
  /** Answers also given by another rollout of the group, with less than the best score of the run. */
  repeated: number
  /** Answers given to the same item before, and those of them with a very different score than then. */
  known: number
  contradicted: number
  /** Scores of answers that match the expected one, and of the others. */
  readonly right: Sum
  readonly other: Sum
}

interface Whole {
  lowest: number
  highest: number
  /** The first score of an answer to an item. */
  readonly first: Map<string, number>
}

/** Number of equal parts that replace steps if no group has one. */
const parts = 30

/** Share of the run's score range that counts as a very different score. */
const quiteAnother = 0.5

const mean = (values: ReadonlyArray<number>): number => values.reduce((sum, value) => sum + value, 0) / values.length

/** The step of each row; rows are newest first. */
const stepsOf = (rows: ReadonlyArray<Wire.RolloutRow>): ((row: Wire.RolloutRow, place: number) => number | null) => {
  if (rows.some(({ step }) => step !== null)) return ({ step }) => step
  return (_, place) => 1 + Math.floor(((rows.length - 1 - place) * Math.min(parts, rows.length)) / rows.length)
}

const wholeOf = (wholes: Map<string, Whole>, source: string): Whole => {
  const known = wholes.get(source) ?? { lowest: Infinity, highest: -Infinity, first: new Map<string, number>() }
  wholes.set(source, known)
  return known
}

/** Indices of a group's answers that were not truncated. */
const wholeAnswers = (lengths: ReadonlyArray<number>, truncated: number): ReadonlyArray<number> => {
  const cut = Math.round(truncated * lengths.length)
  const places = Array.from(lengths.keys())
  return cut === 0 ? places : places.toSorted((one, other) => lengths[one]! - lengths[other]!).slice(0, -cut)
}

const addLengths = (step: Step, { figures, scores }: Wire.RolloutRow): void => {
  const { lengths = [], truncated = 0 } = figures ?? {}
  if (lengths.length !== scores.length || scores.length < 2) return
  step.lengths.push(...lengths)
  const places = wholeAnswers(lengths, truncated)
  if (places.length < 2) return
  const length = mean(places.map((place) => lengths[place]!))
  const score = mean(places.map((place) => scores[place]!))
  for (const place of places) {
    step.ownLengths.push(lengths[place]! - length)
    step.ownScores.push(scores[place]! - score)
  }
}

const addAnswers = (step: Step, row: Wire.RolloutRow, { first, highest, lowest }: Whole): void => {
  const { scores } = row
  const marked = row.figures?.answers ?? []
  if (marked.length < 2 || marked.length !== scores.length) return
  const item = itemOf(row) ?? row.id
  const answers = marked.map((answer) => (answer.startsWith(expected) ? answer.slice(expected.length) : answer))
  for (const [place, answer] of answers.entries()) {
    const score = scores[place]!
    const known = step.answers.get(answer) ?? { rollouts: 0, items: new Set<string>() }
    known.rollouts++
    known.items.add(item)
    step.answers.set(answer, known)
    const isRepeated = answers.indexOf(answer) !== answers.lastIndexOf(answer)
    if (isRepeated && score < highest) step.repeated++
    const key = `${item}\n${answer}`
    const before = first.get(key)
    if (before === undefined) first.set(key, score)
    else {
      step.known++
      if (Math.abs(score - before) > quiteAnother * (highest - lowest)) step.contradicted++
    }
    const sum = marked[place]!.startsWith(expected) ? step.right : step.other
    sum.sum += score
    sum.count++
  }
  step.answerCount += answers.length
}

interface Collected {
  readonly steps: ReadonlyArray<Step>
  readonly wholes: ReadonlyMap<string, Whole>
}

/** `rows` are newest first, as in the service. */
export const collect = (rows: ReadonlyArray<Wire.RolloutRow>): Collected => {
  const steps = new Map<string, Step>()
  const wholes = new Map<string, Whole>()
  const stepOf = stepsOf(rows)
  const readable = rows.flatMap((row, place) => {
    const at = stepOf(row, place)
    return at === null || row.figures === null || row.figures === undefined ? [] : [{ at, row }]
  })
  for (const { row } of readable) {
    const whole = wholeOf(wholes, row.environment ?? unnamed)
    for (const score of row.scores) {
      whole.lowest = Math.min(whole.lowest, score)
      whole.highest = Math.max(whole.highest, score)
    }
  }
  for (const { at, row } of readable.toReversed()) {
    const source = row.environment ?? unnamed
    const key = `${at}\n${source}`
    const step = steps.get(key) ?? {
      source,
      step: at,
      at: row.created_at,
      lengths: [],
      ownLengths: [],
      ownScores: [],
      answers: new Map(),
      answerCount: 0,
      repeated: 0,
      known: 0,
      contradicted: 0,
      right: { sum: 0, count: 0 },
      other: { sum: 0, count: 0 }
    }
    steps.set(key, step)
    addLengths(step, row)
    addAnswers(step, row, wholeOf(wholes, source))
  }
  return { steps: [...steps.values()].sort((left, right) => left.step - right.step), wholes }
}

/** The share of a step's most common answer that was given to different items. */
export const commonestOf = ({ answers, answerCount }: Step): number =>
  Math.max(0, ...[...answers.values()].map(({ items, rollouts }) => (items.size > 1 ? rollouts / answerCount : 0)))

export const lengthOf = ({ lengths }: Step): number => mean(lengths)

export const tieOf = ({ ownLengths, ownScores }: Step): number | undefined => Health.correlation(ownLengths, ownScores)

/**
 * By how much answers matching the expected one score higher than others, as a share of the run's score range;
 * undefined unless both exist.
 */
export const gainOf = ({ other, right, source }: Step, wholes: Collected["wholes"]): number | undefined => {
  const { highest = 0, lowest = 0 } = wholes.get(source) ?? {}
  return right.count === 0 || other.count === 0 || highest === lowest
    ? undefined
    : (right.sum / right.count - other.sum / other.count) / (highest - lowest)
}
