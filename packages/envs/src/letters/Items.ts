/** Items of letter counting by tier, seed and index, and demonstrations of the compact task. */
import { SeededRandom } from "@atropos/core"
import type * as ExactAnswer from "../kit/ExactAnswer.ts"
import * as ItemSource from "../kit/ItemSource.ts"
import { compactPrompt } from "./Form.ts"
import * as Tiers from "./Tiers.ts"

export interface Item extends Tiers.Question {
  readonly tier: number
  readonly samplingSeed: number
}

interface ItemRef {
  readonly seed: number
  readonly index: number
  readonly tier: number
}

/** Item number `index` of a tier and a seed, for training or held out. */
export const itemAt = ({ index, seed, tier }: ItemRef, heldOut: boolean): Item => {
  const draw = (random: SeededRandom.SeededRandom, samplingSeed: number): Item => ({
    ...Tiers.draw(tier, random),
    tier,
    samplingSeed
  })
  return ItemSource.drawAt({ seed, draw, key: compactPrompt }, index, heldOut)
}

/** The vocabulary of the compact task. */
export const characters = "abcdefghijklmnopqrstuvwxyz0123456789:=,"

/**
 * A compact question of a tier with its answer, each count right with probability `accuracy`, else random: teaches the
 * format and where to look, and leaves the rest to the reward.
 */
export const demonstration = (place: ItemRef & { readonly accuracy: number }): ExactAnswer.Demonstration => {
  const item = itemAt(place, false)
  const random = SeededRandom.seeded(place.seed + 1, place.index)
  const counts = Tiers.count(item).map((count) => (random.chance(place.accuracy) ? count : random.between(0, 3)))
  return { prompt: compactPrompt(item), completion: counts.join(",") }
}
