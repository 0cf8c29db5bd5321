/**
 * Computes and describes advantages by the rule of the run's trainer. If the rule is unknown (the original's trainers,
 * files), the rule of the original's trainer is used and labelled as such.
 */
import * as ScoreAdvantage from "@atropos/core/reward/ScoreAdvantage"
import type { AdvantageRecipe } from "../../source/Wire.ts"

const defaults: ScoreAdvantage.Rule = { baseline: "group", advantageScale: "population-std" }

const ruleOf = (recipe: AdvantageRecipe | null): ScoreAdvantage.Rule =>
  recipe === null ? defaults : { baseline: recipe.baseline, advantageScale: recipe.advantage_scale }

/** False if the loss uses no advantages, the program has a custom function, or the whole batch is needed. */
const isKnown = (recipe: AdvantageRecipe | null): boolean =>
  recipe === null || (recipe.is_used && recipe.computed_by === undefined && !ScoreAdvantage.needsBatch(ruleOf(recipe)))

/** One per score; null if the run's loss uses none, or they cannot be computed here. */
export const ofScores = (
  scores: ReadonlyArray<number>,
  recipe: AdvantageRecipe | null,
  /** The rollout of each sequence; undefined: a separate rollout. */
  sessions: ReadonlyArray<unknown> = []
): Float64Array | null => (!isKnown(recipe) ? null : ScoreAdvantage.ofSessions(scores, sessions, ruleOf(recipe)))

/** True if the rule divides by the standard deviation of a sample (n − 1). */
export const isOfSample = (recipe: AdvantageRecipe | null): boolean =>
  ruleOf(recipe).advantageScale === "sample-std" || ruleOf(recipe).advantageScale === "batch-std"

const baselines: { readonly [B in ScoreAdvantage.Baseline]: string } = {
  group: "score − group mean",
  "leave-one-out": "score − mean of the others",
  batch: "score − batch mean",
  none: "score"
}

const scales: { readonly [S in ScoreAdvantage.Scale]: string | null } = {
  "sample-std": "group std dev (sample)",
  "population-std": "group std dev (population)",
  "batch-std": "batch std dev (sample)",
  none: null
}

/**
 * The rule as text: `advantage = (score − group mean) / group std dev (sample) (grpo)`.
 */
export const formula = (recipe: AdvantageRecipe | null): string => {
  if (recipe !== null && !recipe.is_used) return `The run's loss (${recipe.loss}) uses no advantages`
  if (recipe?.computed_by !== undefined) {
    return `Advantages are computed by the run's custom function (${recipe.computed_by}), unknown here`
  }
  const rule = ruleText(ruleOf(recipe))
  if (recipe === null) return `advantage = ${rule}; the run's own rule is unknown`
  const note = ScoreAdvantage.needsBatch(ruleOf(recipe)) ? "; not shown, because it needs the whole batch" : ""
  return `advantage = ${rule} (${recipe.loss})${note}`
}

const ruleText = ({ advantageScale, baseline }: ScoreAdvantage.Rule): string => {
  const scale = baseline === "none" ? null : scales[advantageScale]
  return scale === null ? baselines[baseline] : `(${baselines[baseline]}) / ${scale}`
}

/** Short label of the rule. */
export const name = (recipe: AdvantageRecipe | null): string =>
  recipe === null
    ? "advantages: (score − mean) / std, rule unknown"
    : !recipe.is_used
      ? `no advantages (${recipe.loss})`
      : recipe.computed_by === undefined && ScoreAdvantage.needsBatch(ruleOf(recipe))
        ? `advantages over the batch (${recipe.loss})`
        : recipe.computed_by === undefined
          ? `advantages: ${ruleText(ruleOf(recipe))} (${recipe.loss})`
          : `advantages: ${recipe.computed_by}`
