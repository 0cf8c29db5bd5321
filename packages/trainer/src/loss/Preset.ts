/** Losses by name, and the objective of a preset with a user's changes. */
import { Result, Schema } from "effect"
import { cispo } from "./Cispo.ts"
import { atropos, dapo, drGrpo, grpo } from "./Clipped.ts"
import { dppo } from "./Dppo.ts"
import { gspo } from "./Gspo.ts"
import type { LossSettings, PresetName } from "./LossSettings.ts"
import type { Objective } from "./Objective.ts"
import * as PolicyObjective from "./PolicyObjective.ts"
import { distill, sft, type SupervisedPreset } from "./Supervised.ts"
import { plain, type PolicyPreset, type PolicySettings } from "./Surrogate.ts"

/** Settings of the loss contradict each other. */
export class LossSettingsError extends Schema.TaggedError<LossSettingsError>()("LossSettingsError", {
  preset: Schema.String,
  reason: Schema.String
}) {
  override get message() {
    return `loss ${this.preset}: ${this.reason}`
  }
}

const policies: Partial<Record<PresetName, PolicyPreset>> = {
  grpo,
  atropos,
  "dr-grpo": drGrpo,
  dapo,
  cispo,
  gspo,
  dppo
}

const supervised: Partial<Record<PresetName, SupervisedPreset>> = { sft, distill }

/** The settings that were given. */
const changes = (given: Partial<LossSettings>): Partial<PolicySettings> =>
  Object.fromEntries(
    Object.entries(given).filter(([name, value]) => name !== "preset" && value !== null && value !== undefined)
  )

/** The objective to train with; fails where a setting would have no effect. */
export const resolve = (
  given: Partial<LossSettings> & { readonly preset: PresetName }
): Result.Result<Objective, LossSettingsError> => {
  const fail = (reason: string) => Result.fail(new LossSettingsError({ preset: given.preset, reason }))
  const changed = changes(given)
  const policy = policies[given.preset]
  if (policy === undefined) {
    const { aggregation = "token-mean", divisorTokens = plain.divisorTokens, maskTruncated = false, ...rest } = changed
    const [unused] = Object.keys(rest)
    if (unused !== undefined) return fail(`has no ${unused}: it looks at no ratio, advantage or reference`)
    // One of the two tables has every name.
    const { objective } = supervised[given.preset]!
    return Result.succeed({ ...objective, aggregation, divisorTokens, maskTruncated })
  }
  const settings: PolicySettings = { ...policy.defaults, ...changed }
  if (settings.importanceSampling !== "none" && settings.oldPolicy === "engine") {
    return fail(
      `${settings.importanceSampling} importance sampling corrects the trainer's logprobs against the engine's: ` +
        `oldPolicy must be "trainer"`
    )
  }
  if (settings.kl === "k1" && settings.klCoef !== 0 && !settings.klImportance) {
    return fail("k1 in the loss has no gradient on average: set klImportance, or use k2 or k3")
  }
  return Result.succeed(PolicyObjective.make(policy, settings))
}
