/**
 * Computes and describes advantages by the rule of the run's trainer. If the rule is unknown (the original's trainers,
 * files), the rule of the original's trainer is used and labelled as such.
 */
import * as ScoreAdvantage from "@atropos/core/reward/ScoreAdvantage"
import type { AdvantageRecipe } from "../../source/Wire.ts"

const usual: ScoreAdvantage.Rule = { baseline: "group", advantageScale: "population-std" }

const ruleOf = (recipe: AdvantageRecipe | null): ScoreAdvantage.Rule =>
  recipe === null ? usual : { baseline: recipe.baseline, advantageScale: recipe.advantage_scale }

/** False if the loss uses no advantages, the program has a custom function, or the whole batch is needed. */
const isKnown = (recipe: AdvantageRecipe | null): boolean =>
  recipe === null || (recipe.is_used && recipe.computed_by === undefined && !ScoreAdvantage.needsBatch(ruleOf(recipe)))

/** One per score; null if the run's loss uses none, or they cannot be computed here. */
export const ofScores = (
  scores: ReadonlyArray<number>,
  recipe: AdvantageRecipe | null,
  /** The rollout of each sequence; undefined: a rollout of its own. */
  sessions: ReadonlyArray<unknown> = []
): Float64Array | null => (!isKnown(recipe) ? null : ScoreAdvantage.ofSessions(scores, sessions, ruleOf(recipe)))

const baselines: { readonly [B in ScoreAdvantage.Baseline]: string } = {
  group: "score − mean of the group",
  "leave-one-out": "score − mean of the others",
  batch: "score − mean of the batch",
  none: "score"
}

const scales: { readonly [S in ScoreAdvantage.Scale]: string | null } = {
  "sample-std": "sample standard deviation of the group",
  "population-std": "population standard deviation of the group",
  "batch-std": "sample standard deviation of the batch",
  none: null
}

/**
 * The rule as text: `(score − mean of the group) / sample standard deviation of the group: the rule of this run
 * (grpo)`.
 */
export const formula = (recipe: AdvantageRecipe | null): string => {
  if (recipe !== null && !recipe.is_used) return `the loss of this run (${recipe.loss}) looks at no advantages`
  if (recipe?.computed_by !== undefined) {
    return `advantages of this run are made by its program’s own function (${recipe.computed_by}): not known here`
  }
  const { advantageScale, baseline } = ruleOf(recipe)
  const scale = baseline === "none" ? null : scales[advantageScale]
  const rule = scale === null ? baselines[baseline] : `(${baselines[baseline]}) / ${scale}`
  if (recipe === null) return `advantage = ${rule}; the run’s own rule is not known here`
  const shown = ScoreAdvantage.needsBatch(ruleOf(recipe)) ? "; not shown here, as a group alone does not tell it" : ""
  return `advantage = ${rule}: the rule of this run (${recipe.loss})${shown}`
}

/** Short label of the rule. */
export const name = (recipe: AdvantageRecipe | null): string =>
  recipe === null
    ? "adv (s − mean) / std, rule not known"
    : !recipe.is_used
      ? `no advantages (${recipe.loss})`
      : recipe.computed_by === undefined && ScoreAdvantage.needsBatch(ruleOf(recipe))
        ? `adv of the whole batch (${recipe.loss})`
        : `adv by ${recipe.computed_by ?? recipe.loss}`
