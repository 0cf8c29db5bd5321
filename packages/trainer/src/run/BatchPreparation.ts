/**
 * Turns the groups of a batch into training data: applies the staleness rule and temperatures, computes advantages, and
 * selects trainable sequences.
 */
import type { ScoredGroup } from "@atropos/core"
import type { Rule } from "../learn/Advantages.ts"
import type { LearnerEngineShape } from "../learn/LearnerEngine.ts"
import * as Staleness from "../learn/Staleness.ts"
import * as TrainingSequence from "../learn/TrainingSequence.ts"
import * as WeightedBatch from "../learn/WeightedBatch.ts"
import type { Objective } from "../loss/Objective.ts"
import type { TrainerFields } from "./TrainerSettings.ts"

export interface Options {
  readonly model: Pick<LearnerEngineShape["model"], "vocabSize">
  readonly settings: TrainerFields
  readonly objective: Objective
  /** Default: the objective's rule. */
  readonly advantages?: Rule
}

export interface Prepared extends WeightedBatch.Chosen {
  readonly counts: TrainingSequence.SequenceCounts
  readonly staleness: Staleness.Figures
}

export const make =
  ({ advantages, model, objective, settings }: Options) =>
  (groups: ReadonlyArray<ScoredGroup.ScoredGroup>, policyVersion: number): Prepared => {
    const { maxStaleness, onStale, seqLen, temperature, tooLong } = settings
    const { figures, groups: fresh } = Staleness.apply(groups, policyVersion, {
      maxStaleness,
      // `wait` keeps environments from producing stale groups; any that still arrive (another run's, a slow rollout)
      // are dropped.
      action: onStale === "mask" ? "mask" : "drop",
      isAbsolute: objective.baseline === "none" || objective.baseline === "batch" || !objective.isPolicyGradient,
      isUnknownStale: objective.isPolicyGradient
    })
    const { counts, sequences } = TrainingSequence.ofGroups(fresh, objective, temperature, advantages ?? objective)
    const chosen = WeightedBatch.choose(sequences, objective, {
      maxLength: seqLen,
      tooLong,
      vocabSize: model.vocabSize,
      skipZeroAdvantage: objective.isAdvantageOnly
    })
    return { ...chosen, counts, staleness: figures }
  }
