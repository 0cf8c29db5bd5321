/**
 * What a program may give the trainer as plain values, in place of what the settings name. Checkpoints keep their
 * names, so that a run that goes on with others says so; what is in a function is not compared.
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
  /** In place of the preset that the settings' `loss` names. */
  readonly objective?: Objective
  /** In place of the objective's own rule: another rule of scores, or a function of a group. */
  readonly advantages?: Rule
  /** Learning rate of a step, 0 for the first; in place of `lr`, `schedule`, `warmup_steps` and `lr_floor`. */
  readonly schedule?: (step: number) => number
  /** In place of `adam_beta1` and the others; what is not given is theirs. */
  readonly optimizer?: Partial<OptimizerSettings>
}

/** Settings and values together: what the trainer works with. */
export interface Resolved {
  readonly objective: Objective
  /** The rule that scores become advantages by. */
  readonly advantages: Rule
  readonly rate: (step: number) => number
  readonly optimizer: OptimizerSettings
}

const optimizerOf = ({ trainer }: TrainerSettings.TrainerSettings): OptimizerSettings => ({
  beta1: trainer.adamBeta1,
  beta2: trainer.adamBeta2,
  epsilon: trainer.adamEpsilon,
  weightDecay: trainer.weightDecay,
  maxNorm: trainer.maxGradNorm
})

export const resolve = (
  settings: TrainerSettings.TrainerSettings,
  { advantages, objective: given, optimizer, schedule }: TrainerValues
): Result.Result<Resolved, Preset.LossSettingsError> => {
  const course = TrainerSettings.scheduleOf(settings.trainer)
  return Result.map(given === undefined ? Preset.resolve(settings.loss) : Result.succeed(given), (preset) => {
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

/** As checkpoints have them, beside the settings; nothing where none was given. */
export const encode = (values: TrainerValues): { readonly [name: string]: unknown } => {
  const { advantages, objective, optimizer, schedule } = values
  const given = {
    ...(objective && { objective: objective.name }),
    ...(advantages && { advantages: Predicate.isFunction(advantages) ? nameOf(advantages) : { ...advantages } }),
    ...(schedule && { schedule: nameOf(schedule) }),
    ...(optimizer && { optimizer: { ...optimizer } })
  }
  return Object.keys(given).length === 0 ? {} : { values: given }
}

/** How scores become advantages, for those who look on. */
export const recipe = ({ advantages, objective }: Resolved): ScoreAdvantage.Recipe => ({
  loss: objective.name,
  baseline: objective.baseline,
  advantageScale: objective.advantageScale,
  isUsed: objective.usesAdvantages,
  ...(Predicate.isFunction(advantages) && { computedBy: nameOf(advantages) })
})

/**
 * The settings as they are in force, to be shown: what is left to a default that depends on other settings has its
 * value, and what the run does not look at is absent.
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
