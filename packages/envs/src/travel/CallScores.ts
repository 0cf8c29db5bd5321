/**
 * Scores an answer's calls against those of a plan, like t1_scoring.py of the original.
 *
 * By names: precision, recall and F1 of the two multisets of names. By arguments: F1 over the named arguments of calls
 * of the same name, paired by similarity. If the plan makes no call, an answer scores 1 without calls and 0 with any;
 * if it makes some, an answer without any scores 0.
 *
 * Unlike the original, ignores the order of the calls, and calls whose plan has no arguments to compare can be wholly
 * right (there they cost 0.3): mainly those of `seek_information`, whose question is in the policy's own words.
 */
import { Predicate } from "effect"
import { type RewardComponents, type ToolCalls } from "@atropos/core"
import * as NumberAnswer from "../verify/Number.ts"

interface Shares {
  readonly precision: number
  readonly recall: number
  readonly f1: number
}

const sharesOf = (hits: number, called: number, expected: number): Shares => {
  if (called === 0 && expected === 0) return { precision: 1, recall: 1, f1: 1 }
  return {
    precision: called === 0 ? 0 : hits / called,
    recall: expected === 0 ? 0 : hits / expected,
    f1: (2 * hits) / (called + expected)
  }
}

const decimal = /^\s*[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,4})?\s*$/

/** A number, or a text that is one; an empty text for anything else. */
const numeral = (value: unknown): string => {
  const written =
    typeof value === "boolean" ? String(Number(value)) : Predicate.isObjectOrArray(value) ? "" : String(value)
  return decimal.test(written) ? written : ""
}

/** JSON with sorted keys and exact integers beyond 2^53. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, one: unknown) =>
    typeof one === "bigint"
      ? { integer: String(one) }
      : Predicate.isReadonlyObject(one)
        ? Object.fromEntries(Object.entries(one).toSorted(([a], [b]) => (a < b ? -1 : 1)))
        : one
  ) ?? "undefined"

/** Equality ignoring case and surrounding white space of texts, the order of lists, and numbers written as texts. */
export const isAlike = (a: unknown, b: unknown): boolean => {
  if (typeof a === "string" && typeof b === "string" && a.trim().toLowerCase() === b.trim().toLowerCase()) return true
  if (Array.isArray(a) && Array.isArray(b)) {
    const [one, other] = [a, b].map((list: ReadonlyArray<unknown>) =>
      canonical(list.map((one) => (typeof one === "string" ? one : canonical(one))).toSorted())
    )
    return one === other
  }
  return canonical(a) === canonical(b) || NumberAnswer.equivalent(numeral(a), numeral(b))
}

/** Its question to the user is free text. */
const inOwnWords = "seek_information"

const argumentsOf = ({ arguments: values, name }: ToolCalls.Call): Readonly<Record<string, unknown>> =>
  Predicate.isReadonlyObject(values) && name !== inOwnWords ? values : {}

const inCommon = (expected: ToolCalls.Call, called: ToolCalls.Call): number => {
  const there = argumentsOf(called)
  return Object.entries(argumentsOf(expected)).filter(
    ([name, value]) => Object.hasOwn(there, name) && isAlike(value, there[name])
  ).length
}

const inOrder = (calls: ReadonlyArray<ToolCalls.Call>): ReadonlyArray<ToolCalls.Call> =>
  calls.toSorted((a, b) => (canonical(a) < canonical(b) ? -1 : 1))

/**
 * Pairs of calls of the same name: the most similar first, and among those the ones with the fewest other arguments.
 */
const paired = (plan: ReadonlyArray<ToolCalls.Call>, answer: ReadonlyArray<ToolCalls.Call>) => {
  // Sorted, so that ties do not depend on the order of the calls.
  const [expected, called] = [inOrder(plan), inOrder(answer)]
  const size = (call: ToolCalls.Call) => Object.keys(argumentsOf(call)).length
  const candidates = expected
    .flatMap((one, i) =>
      called.flatMap((other, j) =>
        one.name === other.name
          ? [{ i, j, hits: inCommon(one, other), arguments: [size(one), size(other)] as const }]
          : []
      )
    )
    .toSorted(
      (a, b) => b.hits - a.hits || a.arguments[0] + a.arguments[1] - (b.arguments[0] + b.arguments[1]) || a.i - b.i
    )
  const [takenI, takenJ] = [new Set<number>(), new Set<number>()]
  return candidates.filter(({ i, j }) => {
    if (takenI.has(i) || takenJ.has(j)) return false
    takenI.add(i)
    takenJ.add(j)
    return true
  })
}

/** The number of names in both lists, with multiplicity. */
const namesInCommon = (expected: ReadonlyArray<ToolCalls.Call>, called: ReadonlyArray<ToolCalls.Call>): number => {
  const left = new Map<string, number>()
  for (const { name } of called) left.set(name, (left.get(name) ?? 0) + 1)
  return expected.filter(({ name }) => {
    const count = left.get(name) ?? 0
    left.set(name, count - 1)
    return count > 0
  }).length
}

/**
 * The score of a turn: 0.5 · F1 of names + 0.3 · F1 of arguments + 0.1 for readable calls + 0.1 for all the right
 * names.
 */
export const rule: RewardComponents.Rule = {
  weights: { f1: 0.5, arguments: 0.3, format: 0.1, complete: 0.1, precision: 0, recall: 0, exact: 0 }
}

export interface Components {
  readonly [name: string]: number
  readonly f1: number
  readonly arguments: number
  /** 1 if there are calls, and all can be parsed. */
  readonly format: number
  readonly complete: number
  readonly precision: number
  readonly recall: number
  /** F1 of calls that match in every argument. */
  readonly exact: number
}

const all = (value: 0 | 1): Components => ({
  f1: value,
  arguments: value,
  format: value,
  complete: value,
  precision: value,
  recall: value,
  exact: value
})

/** For a turn without an answer. */
export const nothing: Components = all(0)

/** Components of one answer; `calls` has undefined for a call that cannot be parsed. */
export const ofTurn = (
  expected: ReadonlyArray<ToolCalls.Call>,
  calls: ReadonlyArray<ToolCalls.Call | undefined>
): Components => {
  if (expected.length === 0) return all(calls.length === 0 ? 1 : 0)
  if (calls.length === 0) return all(0)
  const read = calls.filter((call) => call !== undefined)
  const names = sharesOf(namesInCommon(expected, read), calls.length, expected.length)
  const pairs = paired(expected, read)
  const total = (pick: (pair: (typeof pairs)[number]) => number) => pairs.reduce((sum, pair) => sum + pick(pair), 0)
  const byArguments = sharesOf(
    total(({ hits }) => hits),
    total(({ arguments: [, called] }) => called),
    total(({ arguments: [expected] }) => expected)
  )
  const equal = pairs.filter(({ arguments: [one, other], hits }) => hits === one && hits === other).length
  return {
    f1: names.f1,
    arguments: pairs.length === 0 ? 0 : byArguments.f1,
    format: read.length === calls.length ? 1 : 0,
    complete: names.f1 === 1 ? 1 : 0,
    precision: names.precision,
    recall: names.recall,
    exact: sharesOf(equal, calls.length, expected.length).f1
  }
}

export const mean = (turns: ReadonlyArray<Components>): Components => {
  const of = (name: string) => turns.reduce((sum, turn) => sum + turn[name]!, 0) / turns.length
  return {
    f1: of("f1"),
    arguments: of("arguments"),
    format: of("format"),
    complete: of("complete"),
    precision: of("precision"),
    recall: of("recall"),
    exact: of("exact")
  }
}
