/** Resolves losses by name, and builds the objective of a preset with a user's changes. */
import { Result, Schema } from "effect"
import { cispo } from "./Cispo.ts"
import { atropos, dapo, drGrpo, grpo, icepop, reinforcePlusPlus, seqMis } from "./Clipped.ts"
import * as Dpo from "./Dpo.ts"
import { dppo } from "./Dppo.ts"
import { gspo } from "./Gspo.ts"
import type { LossSettings, PresetName } from "./LossSettings.ts"
import type { Objective } from "./Objective.ts"
import { onPolicyDistill } from "./OnPolicyDistill.ts"
import * as PolicyObjective from "./PolicyObjective.ts"
import { rloo } from "./Rloo.ts"
import { sapo } from "./Sapo.ts"
import { distill, sft, type SupervisedPreset } from "./Supervised.ts"
import { lossOptions, type PolicyPreset, type PolicySettings } from "./Surrogate.ts"
import { vespo } from "./Vespo.ts"

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
  dppo,
  "reinforce++": reinforcePlusPlus,
  rloo,
  "seq-mis": seqMis,
  icepop,
  sapo,
  vespo,
  "on-policy-distill": onPolicyDistill
}

const supervised: Partial<Record<PresetName, SupervisedPreset>> = { sft, distill }

type Changes = Partial<PolicySettings> & { readonly dpoBeta?: number }

const changes = (input: Partial<LossSettings>): Changes =>
  Object.fromEntries(
    Object.entries(input).filter(
      ([name, value]) => name !== "preset" && name !== "file" && value !== null && value !== undefined
    )
  )

const withReason = (names: ReadonlyArray<string>, reason: string) => names.map((name) => [name, reason] as const)

/** Settings without effect under the current value of another, with the reason. */
const unusedReasons = (preset: PolicyPreset, settings: PolicySettings): ReadonlyMap<string, string> => {
  const { aggregation, importanceSampling, klCoef } = settings
  const { usesAdvantages = true } = preset
  return new Map([
    ...withReason(
      lossOptions.filter((name) => !preset.has.includes(name)),
      `its loss does not use it${preset.has.length > 0 ? `; it uses ${preset.has.join(", ")}` : ""}`
    ),
    ...withReason(["dpoBeta"], "it compares no pairs"),
    ...withReason(usesAdvantages ? [] : ["baseline", "advantageScale", "dropConstantGroups"], "it uses no advantages"),
    ...withReason(aggregation === "constant" ? [] : ["divisorTokens"], `aggregation is ${aggregation}, not constant`),
    ...withReason(
      importanceSampling === "none" ? ["importanceLevel", "importanceCap", "importanceFloor"] : [],
      "importanceSampling is none"
    ),
    ...withReason(klCoef === 0 ? ["kl", "klImportance"] : [], "klCoef is 0")
  ])
}

const contradiction = ({ noCorrection }: PolicyPreset, settings: PolicySettings): string | undefined => {
  const { advantageScale, baseline, importanceCap, importanceFloor, importanceSampling } = settings
  const { kl, klCoef, klImportance, oldPolicy } = settings
  if (importanceSampling !== "none" && noCorrection !== undefined) {
    return `${importanceSampling} importance sampling would correct twice: ${noCorrection}`
  }
  if (importanceSampling !== "none" && oldPolicy === "engine") {
    return (
      `${importanceSampling} importance sampling corrects the trainer's logprobs against the engine's: ` +
      `oldPolicy must be "trainer"`
    )
  }
  if (baseline === "batch" && advantageScale !== "batch-std" && advantageScale !== "none") {
    return `baseline batch compares across groups: advantageScale must be "batch-std" or "none", not "${advantageScale}"`
  }
  if (importanceFloor !== null && importanceFloor > importanceCap) {
    return `importanceFloor ${importanceFloor} is above importanceCap ${importanceCap}`
  }
  if (kl === "k1" && klCoef !== 0 && !klImportance) {
    return "k1 in the loss has no gradient on average: set klImportance, or use k2 or k3"
  }
  return undefined
}

/** The effective loss settings: those given, else the preset's; without those that have no effect. */
export const inForce = (input: LossSettings): Partial<LossSettings> => {
  const { preset } = input
  const changed = changes(input)
  const policy = policies[preset]
  if (policy === undefined || typeof input.file === "string") return { preset, ...changed }
  const settings: PolicySettings = { ...policy.defaults, ...changed }
  const without = unusedReasons(policy, settings)
  return { preset, ...Object.fromEntries(Object.entries(settings).filter(([name]) => !without.has(name))) }
}

/** The objective to train with; fails if a setting would have no effect. */
export const resolve = (
  input: Partial<LossSettings> & { readonly preset: PresetName }
): Result.Result<Objective, LossSettingsError> => {
  const fail = (reason: string) => Result.fail(new LossSettingsError({ preset: input.preset, reason }))
  if (typeof input.file === "string") {
    return fail(`the settings name a custom loss, ${input.file}: pass it to Trainer.make as objective`)
  }
  const changed = changes(input)
  const policy = policies[input.preset]
  if (policy === undefined) {
    const { aggregation, divisorTokens, dpoBeta, maskTruncated, ...rest } = changed
    const [unused] = Object.keys(rest)
    if (unused !== undefined) return fail(`has no ${unused}: it uses no ratio, advantage or clip`)
    if (divisorTokens !== undefined && aggregation !== "constant") {
      return fail("divisorTokens would have no effect: aggregation is not constant")
    }
    const shared = {
      ...(divisorTokens !== undefined && { divisorTokens }),
      ...(maskTruncated !== undefined && { maskTruncated })
    }
    if (input.preset === "dpo") {
      if (aggregation !== undefined) return fail("has no aggregation: it is a mean over pairs")
      return Result.succeed({ ...Dpo.objective(dpoBeta ?? 0.1), ...shared })
    }
    if (dpoBeta !== undefined) return fail("has no dpoBeta: it compares no pairs")
    // Every name is in one of the three tables.
    const { objective } = supervised[input.preset]!
    return Result.succeed({ ...objective, ...(aggregation !== undefined && { aggregation }), ...shared })
  }
  const settings: PolicySettings = { ...policy.defaults, ...changed }
  const without = unusedReasons(policy, settings)
  for (const name of Object.keys(changed)) {
    const reason = without.get(name)
    if (reason !== undefined) return fail(`${name} would have no effect: ${reason}`)
  }
  const reason = contradiction(policy, settings)
  return reason === undefined ? Result.succeed(PolicyObjective.make(policy, settings)) : fail(reason)
}
