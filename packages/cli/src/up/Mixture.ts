/** Combines the recipes of several environments that are trained together. */
import type { Recipe as Shared } from "@atropos/core"
import { Array } from "effect"
import { type Definition, type Recipe, scratch } from "./Recipe.ts"

/** Settings of the first, with the sum of all steps: each environment gets its share of the batches. */
export const settingsOf = (
  definitions: Array.NonEmptyReadonlyArray<Definition>
): { readonly trainer: Shared.Section; readonly loss: Shared.Section } => {
  const [{ loss, trainer }] = definitions
  const steps = definitions.map((definition) => Number(definition.trainer["training_steps"]))
  return { loss, trainer: { ...trainer, model: scratch, training_steps: steps.reduce((sum, one) => sum + one, 0) } }
}

/**
 * All characters, the max length, and alternating demonstrations, as many as needed for each recipe to get its own
 * number.
 */
export const recipeOf = (recipes: Array.NonEmptyReadonlyArray<Recipe>): Recipe => {
  const [first] = recipes
  if (recipes.length === 1) return first
  const warmed = recipes.filter(({ warmStart }) => warmStart.steps > 0)
  const deviations = recipes.flatMap(({ embeddingDeviation }) => embeddingDeviation ?? [])
  return {
    characters: Array.dedupe(recipes.flatMap(({ characters }) => globalThis.Array.from(characters))).join(""),
    longest: Math.max(...recipes.map(({ longest }) => longest)),
    ...(deviations.length > 0 && { embeddingDeviation: Math.max(...deviations) }),
    demonstration: (index) =>
      (warmed[index % warmed.length] ?? first).demonstration(Math.floor(index / Math.max(1, warmed.length))),
    warmStart: {
      ...first.warmStart,
      steps: warmed.reduce((sum, { warmStart }) => sum + warmStart.steps, 0)
    }
  }
}
