/** Scores the groups of an environment with its definition, validates the scores, and decides which count as solved. */
import { Effect, Option } from "effect"
import * as DefinitionCalls from "./UserCode.ts"
import * as ItemTime from "./ItemTime.ts"
import * as DefinitionResults from "./DefinitionResults.ts"
import type { Definition, EnvironmentShape, RolloutGroup, Solved } from "./Definition.ts"
import type { DefinitionFault, EnvironmentError, Unscorable } from "./EnvironmentError.ts"
import type { Range } from "./Laws.ts"
import { ruleOf, type Weights } from "../reward/RewardComponents.ts"
import { type Judged, judged } from "../reward/Score.ts"

export const none = "its definition has no score function, so every group must contain scores"

/** Scores of a group: those it brings, else those of the definition. */
export const make = <Item, E, R>(
  { claims, components = { weights: {} }, score }: Definition<Item, E, R>,
  crossing: (cause: unknown) => EnvironmentError,
  rewardWeights: Weights
): ((
  item: Item,
  group: RolloutGroup
) => Effect.Effect<ReadonlyArray<Judged>, Unscorable | EnvironmentError | DefinitionFault | E, R>) => {
  const tellUnused = unusedWeights(rewardWeights, Object.keys(components.weights))
  const warnOutside = warningOutside(claims?.scoreRange, rewardWeights)
  const rule = ruleOf({ rewardWeights }, components)
  return Effect.fn("Environment.score")(function* (item: Item, { scores: own, trajectories }: RolloutGroup) {
    if (own === undefined && score === undefined) return yield* crossing(new Error(none))
    const scores =
      own ??
      (score === undefined
        ? []
        : yield* DefinitionCalls.called("score", () => score(item, trajectories), "scores").pipe(
            ItemTime.during("score")
          ))
    const results = yield* DefinitionResults.scores(
      own === undefined ? "score" : "collectTrajectories",
      scores,
      trajectories.length
    )
    const all = results.map((one) => judged(one, rule))
    yield* tellUnused(all)
    yield* warnOutside(all)
    return all
  })
}

/** Warns once about weights that match no component: a misspelt one would be ignored silently. */
const unusedWeights = (
  weights: Weights,
  known: ReadonlyArray<string>
): ((all: ReadonlyArray<Judged>) => Effect.Effect<void>) => {
  const unused = new Set(Object.keys(weights))
  return (all) => {
    if (unused.size === 0 || all.length === 0) return Effect.void
    const components = new Set([...known, ...all.flatMap(({ rewards }) => Object.keys(rewards ?? {}))])
    const missing = [...unused].filter((name) => !components.has(name))
    unused.clear()
    return missing.length === 0
      ? Effect.void
      : Effect.logWarning("reward_weights has components that the first group lacks", {
          missing,
          components: [...components]
        })
  }
}

/** Tests if a score is outside of a range; NaN is left to the filters. */
const outsideOf = ([bottom, top]: Range): ((score: number) => boolean) => {
  const tolerance = rounding * (top - bottom)
  return (score) => score < bottom - tolerance || score > top + tolerance
}

export type Judging = Pick<EnvironmentShape, "claims" | "settings">

/**
 * Tests if a score is outside of the environment's claims; with `reward_weights`, scores have a different scale, so
 * never.
 */
export const outsideClaims = ({ claims, settings }: Judging): ((score: number) => boolean) =>
  Option.isNone(claims) || hasWeights(settings.rewardWeights) ? () => false : outsideOf(claims.value.scoreRange)

const hasWeights = (weights: Weights): boolean => Object.keys(weights).length > 0

/** Warns of the first score outside of the claimed range. */
const warningOutside = (
  range: Range | undefined,
  weights: Weights
): ((all: ReadonlyArray<Judged>) => Effect.Effect<void>) => {
  if (range === undefined || hasWeights(weights)) return () => Effect.void
  const isOutside = outsideOf(range)
  let isReported = false
  return (all) => {
    const outside = isReported ? undefined : all.find(({ score }) => isOutside(score))
    if (outside === undefined) return Effect.void
    isReported = true
    return Effect.logWarning("score outside the claimed range; correct the score or scoreRange", {
      score: outside.score,
      range
    })
  }
}

/** Rounding may put a sum of parts below its top by this share of the range. */
const rounding = 1e-9

/**
 * The definition of solved, with a description; None if none. NaN, infinite or out-of-range scores never
 * count.
 */
export const solvedBy = (
  {
    claims,
    evaluation,
    isCorrect = evaluation?.isCorrect
  }: {
    readonly claims?: { readonly scoreRange?: readonly [minimum: number, maximum: number] }
    readonly evaluation?: { readonly isCorrect?: Solved["isCorrect"] }
    readonly isCorrect?: Solved["isCorrect"]
  },
  weights: Weights = {}
): EnvironmentShape["solved"] => {
  const range = claims?.scoreRange
  const isOutside = range === undefined || hasWeights(weights) ? () => false : outsideOf(range)
  const sound = (isSolved: Solved["isCorrect"]): Solved["isCorrect"] => {
    return (score, rewards) => Number.isFinite(score) && !isOutside(score) && isSolved(score, rewards)
  }
  if (isCorrect !== undefined) {
    return Option.some({ isCorrect: sound(isCorrect), meaning: "correct by the environment's definition" })
  }
  if (range === undefined) return Option.none()
  const [bottom, top] = range
  const min = top - rounding * (top - bottom)
  return Option.some({
    isCorrect: sound((score) => score >= min),
    meaning: `a score of ${top}, the maximum`
  })
}
