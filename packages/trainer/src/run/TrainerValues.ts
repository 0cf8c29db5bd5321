/**
 * Resolves plain values that a program passes to the trainer instead of settings. Checkpoints keep their names, so that
 * a run resumed with different values reports it; the contents of functions are not compared.
 */
import { ScoreAdvantage } from "@atropos/core"
import * as Predicate from "effect/Predicate"
import { Result } from "effect"
import type { Rule } from "../learn/Advantages.ts"
import type { OptimizerSettings } from "../learn/LearnerEngine.ts"
import * as Schedule from "../learn/Schedule.ts"
import type { Objective } from "../loss/Objective.ts"
import * as Preset from "../loss/Preset.ts"
import * as TrainerSettings from "./TrainerSettings.ts"

export interface TrainerValues {
  /** Replaces the preset named by the `loss` settings. */
  readonly objective?: Objective
  /** Replaces the objective's own rule: another rule of scores, or a function of a group. */
  readonly advantages?: Rule
  /** Learning rate by step, from 0; replaces `lr`, `schedule`, `warmup_steps` and `lr_floor`. */
  readonly schedule?: (step: number) => number
  /** Overrides `adam_beta1` and the other optimizer settings; omitted fields keep them. */
  readonly optimizer?: Partial<OptimizerSettings>
}

export interface Resolved {
  readonly objective: Objective
  readonly advantages: Rule
  readonly rate: (step: number) => number
  readonly optimizer: OptimizerSettings
}

const optimizerOf = ({ trainer }: TrainerSettings.TrainerSettings): OptimizerSettings => ({
  beta1: trainer.adamBeta1,
  beta2: trainer.adamBeta2,
  epsilon: 1e-8,
  weightDecay: trainer.weightDecay,
  maxNorm: trainer.maxGradNorm
})

export const resolve = (
  settings: TrainerSettings.TrainerSettings,
  { advantages, objective: input, optimizer, schedule }: TrainerValues
): Result.Result<Resolved, Preset.LossSettingsError> => {
  const course = TrainerSettings.scheduleOf(settings.trainer)
  return Result.map(input === undefined ? Preset.resolve(settings.loss) : Result.succeed(input), (preset) => {
    const objective = Predicate.isFunction(advantages) ? preset : { ...preset, ...advantages }
    return {
      objective,
      advantages: advantages ?? objective,
      rate: schedule ?? ((step) => Schedule.learningRate(course, step)),
      optimizer: { ...optimizerOf(settings), ...optimizer }
    }
  })
}

const nameOf = ({ name }: { readonly name: string }): string => (name === "" ? "a function" : name)

/** Encodes the values for checkpoints, next to the settings; empty if none were given. */
export const encode = (values: TrainerValues): { readonly [name: string]: unknown } => {
  const { advantages, objective, optimizer, schedule } = values
  const named = {
    ...(objective && { objective: objective.name }),
    ...(advantages && { advantages: Predicate.isFunction(advantages) ? nameOf(advantages) : { ...advantages } }),
    ...(schedule && { schedule: nameOf(schedule) }),
    ...(optimizer && { optimizer: { ...optimizer } })
  }
  return Object.keys(named).length === 0 ? {} : { values: named }
}

export const recipe = ({ advantages, objective }: Resolved): ScoreAdvantage.Recipe => ({
  loss: objective.name,
  baseline: objective.baseline,
  advantageScale: objective.advantageScale,
  isUsed: objective.usesAdvantages,
  ...(Predicate.isFunction(advantages) && { computedBy: nameOf(advantages) })
})

/**
 * The effective settings, for display: defaults that depend on other settings have their value, and settings that the
 * run does not use are absent.
 */
export const inForce = (settings: TrainerSettings.TrainerSettings): { readonly [name: string]: unknown } => {
  const { loss, lora, trainer } = settings
  const { lora: _, loss: __, ...all } = TrainerSettings.encode(settings)
  const encoded = TrainerSettings.loss.encode({ ...loss, ...Preset.inForce(loss) })
  return {
    ...all,
    lr: TrainerSettings.learningRate(trainer),
    ...(trainer.trains === "adapter" && { lora: TrainerSettings.lora.encode(lora) }),
    loss: Object.fromEntries(Object.entries(encoded).filter(([, value]) => value !== null))
  }
}
