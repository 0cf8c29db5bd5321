/**
 * Checks the invariants of scoring functions, for property tests.
 *
 * Permuting a group permutes its scores; the same group gets the same scores; scores are finite and in the declared
 * range; a gold answer gets the top of the range, a wrong one less; components give the score by their rule. A check
 * succeeds, or fails with a `LawBroken` that shows the case. Use with `it.effect.prop`, or run all with `atropos
 * validate`.
 */
import { Arbitrary, Effect, Schema } from "effect"
import type { EnvironmentError, Unscorable } from "./EnvironmentError.ts"
import { isUsable, type Rule, scoreOf, unusable as describeUnusable } from "../reward/RewardComponents.ts"
import type { Judged } from "../reward/Score.ts"
import { maskFrom, type Trajectory } from "../trajectory/Trajectory.ts"

/** Claims that `atropos validate` and property tests check. */
export interface TestableClaims<Item> {
  /** Completions, or whole episodes, that must get the maximum score. */
  readonly gold: (item: Item) => ReadonlyArray<string | Trajectory>
  /** Completions, or whole episodes, that must get less than the maximum. */
  readonly wrong: (item: Item) => ReadonlyArray<string | Trajectory>
  readonly scoreRange: readonly [minimum: number, maximum: number]
}

/**
 * States why right and wrong answers cannot be listed in advance: rows that are already solved, scores from an external
 * source.
 */
export interface Untestable<Item = never> {
  readonly untestable: string
  /** Rolls an item out, if `score` needs data that only a rollout produces, such as the result of an agent's run. */
  readonly sample?: (item: Item) => Effect.Effect<ReadonlyArray<Trajectory>, unknown>
  /** Default: any finite number. */
  readonly scoreRange?: readonly [minimum: number, maximum: number]
}

export type Claims<Item> = TestableClaims<Item> | Untestable<Item>

/** An item with the environment's claims about it, for `validate`. */
export interface ClaimedItem {
  readonly id: string
  readonly label: string
  readonly gold: ReadonlyArray<Trajectory>
  readonly wrong: ReadonlyArray<Trajectory>
  /** Rollouts to check the invariants on if there are neither gold nor wrong answers. */
  readonly sample: Effect.Effect<ReadonlyArray<Trajectory>, EnvironmentError | Unscorable>
  readonly score: (
    group: ReadonlyArray<Trajectory>
  ) => Effect.Effect<ReadonlyArray<number>, EnvironmentError | Unscorable>
  /** Like `score`, with all details of each score. */
  readonly judge: (
    group: ReadonlyArray<Trajectory>
  ) => Effect.Effect<ReadonlyArray<Judged>, EnvironmentError | Unscorable>
}

export const Law = Schema.Literals(["permutation", "determinism", "finiteness", "range", "gold", "wrong", "components"])

export class LawBroken extends Schema.TaggedError<LawBroken>()("LawBroken", {
  law: Law,
  message: Schema.String
}) {}

/** Scores one group: `score` of an environment, bound to an item. */
export type ScoreGroup<E, R> = (group: ReadonlyArray<Trajectory>) => Effect.Effect<ReadonlyArray<number>, E, R>

export type Range = readonly [minimum: number, maximum: number]

/** A trajectory from text alone, for scoring functions that read only the completion. One token per UTF-16 unit. */
export const trajectoryOf = (completion: string, finishReason = "stop"): Trajectory => {
  // `Int32Array.from` is twenty times slower on texts of a megabyte, which `validate` tries.
  const tokens = new Int32Array(completion.length)
  for (let index = 0; index < tokens.length; index++) tokens[index] = completion.charCodeAt(index)
  const messages = [{ role: "assistant", content: completion }]
  return { messages, completion, finishReason, tokens, mask: maskFrom(0, tokens.length) }
}

const show = (group: ReadonlyArray<Trajectory>): string =>
  JSON.stringify(group.map(({ completion }) => (completion.length > 200 ? `${completion.slice(0, 200)}…` : completion)))

/** Like JSON, but with NaN, which JSON cannot represent. */
const formatScores = (scores: ReadonlyArray<number>): string => `[${scores.join(",")}]`

const equalScores = (a: ReadonlyArray<number>, b: ReadonlyArray<number>): boolean =>
  a.length === b.length && a.every((score, index) => score === b[index])

/** score(permuted group) equals permuted score(group). `order` holds the indices 0 … G-1. */
export const permutation = Effect.fn("Laws.permutation")(function* <E, R>(
  score: ScoreGroup<E, R>,
  group: ReadonlyArray<Trajectory>,
  order: ReadonlyArray<number>
) {
  const scores = yield* score(group)
  const permuted = yield* score(order.map((index) => group[index]!))
  const expected = order.map((index) => scores[index]!)
  if (equalScores(expected, permuted)) return
  return yield* new LawBroken({
    law: "permutation",
    message: `in the order ${JSON.stringify(order)} the scores should be ${formatScores(expected)}, but are ${formatScores(permuted)}, for ${show(group)}`
  })
})

/** Scoring the same group twice gives the same scores. */
export const determinism = Effect.fn("Laws.determinism")(function* <E, R>(
  score: ScoreGroup<E, R>,
  group: ReadonlyArray<Trajectory>
) {
  const first = yield* score(group)
  const second = yield* score(group)
  if (equalScores(first, second)) return
  return yield* new LawBroken({
    law: "determinism",
    message: `scored twice: ${formatScores(first)}, then ${formatScores(second)}, for ${show(group)}`
  })
})

export const inRange = Effect.fn("Laws.inRange")(function* <E, R>(
  score: ScoreGroup<E, R>,
  group: ReadonlyArray<Trajectory>,
  [minimum, maximum]: Range
) {
  const scores = yield* score(group)
  const unusable = scores.find((one) => !isUsable(one))
  if (unusable !== undefined) {
    return yield* new LawBroken({
      law: "finiteness",
      message: `a score ${describeUnusable(unusable)}, for ${show(group)}`
    })
  }
  const outside = scores.find((one) => one < minimum || one > maximum)
  if (outside === undefined) return
  return yield* new LawBroken({
    law: "range",
    message: `a score is ${outside}, outside [${minimum}, ${maximum}], for ${show(group)}`
  })
})

/**
 * An item's gold answers as texts, to display with the model's answer. A claim that throws is ignored here: `validate`
 * reports it, and evaluations must not fail because of it.
 */
export const goldTexts = <Item>(
  claims: Claims<Item> | undefined,
  item: Item
): Effect.Effect<{ readonly gold?: ReadonlyArray<string> }> =>
  claims === undefined || !("gold" in claims)
    ? Effect.succeed({})
    : Effect.try({ try: () => claims.gold(item), catch: (cause) => cause }).pipe(
        // A result that is not a text (for example an agent's) is represented by its text.
        Effect.map((gold) => gold.map((one) => (typeof one === "string" ? one : one.completion))),
        Effect.map((gold) => gold.filter((one) => one !== "")),
        Effect.map((gold) => (gold.length === 0 ? {} : { gold })),
        Effect.catch((cause) => Effect.as(Effect.logDebug("an item's gold answers are unknown", { cause }), {}))
      )

/** In a group with a wrong answer, every gold answer gets the top of the range and the wrong one less. */
export const goldOnTop = Effect.fn("Laws.goldOnTop")(function* <E, R>(
  score: ScoreGroup<E, R>,
  gold: ReadonlyArray<string | Trajectory>,
  wrong: ReadonlyArray<string | Trajectory>,
  [, maximum]: Range
) {
  const group = [...gold, ...wrong].map((one) => (typeof one === "string" ? trajectoryOf(one) : one))
  const scores = yield* score(group)
  const low = gold.findIndex((_, index) => scores[index] !== maximum)
  if (low !== -1) {
    return yield* new LawBroken({
      law: "gold",
      message: `the gold answer ${JSON.stringify(group[low]!.completion)} got ${scores[low]}; it must get ${maximum}`
    })
  }
  const high = wrong.findIndex((_, index) => !(scores[gold.length + index]! < maximum))
  if (high === -1) return
  return yield* new LawBroken({
    law: "wrong",
    message: `the wrong answer ${JSON.stringify(group[gold.length + high]!.completion)} got ${scores[gold.length + high]}; it must get less than ${maximum}`
  })
})

/** Tolerance for sums in a different order. */
const rounding = 1e-9

/** A score with components equals their combination by the rule. */
export const components = Effect.fn("Laws.components")(function* (
  judged: ReadonlyArray<Judged>,
  rule: Rule,
  group: ReadonlyArray<Trajectory>
) {
  for (const [index, { rewards, score }] of judged.entries()) {
    if (rewards === undefined) continue
    const expected = scoreOf(rewards, rule)
    if (Math.abs(score - expected) <= rounding * Math.max(1, Math.abs(score))) continue
    return yield* new LawBroken({
      law: "components",
      message: `a score is ${score}, but its components ${JSON.stringify(rewards)} give ${expected}, for ${show(group.slice(index, index + 1))}`
    })
  }
})

/** Groups of 1 to `maxSize` arbitrary completions, for `it.effect.prop`. */
export const arbitraryGroup = (maxSize = 6): Arbitrary.Arbitrary<ReadonlyArray<Trajectory>> =>
  Arbitrary.map(
    Arbitrary.schema(Schema.Array(Schema.String).check(Schema.isMinLength(1), Schema.isMaxLength(maxSize))),
    (completions) => completions.map((completion) => trajectoryOf(completion))
  )
