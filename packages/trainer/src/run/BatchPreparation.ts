/**
 * From the groups of a batch to what the graphs are fed with: the staleness rule, temperatures, advantages, packing.
 */
import type { ScoredGroup } from "@atropos/core"
import type { Objective } from "../loss/Objective.ts"
import * as MicroBatch from "../learn/MicroBatch.ts"
import * as Staleness from "../learn/Staleness.ts"
import type { TrainableModel } from "../model/TrainableModel.ts"
import type { TrainerFields } from "./TrainerSettings.ts"
import * as TrainingSequence from "../learn/TrainingSequence.ts"

export interface Options {
  readonly model: Pick<TrainableModel, "vocabSize" | "hiddenSize">
  readonly settings: TrainerFields
  readonly objective: Objective
  /** Row lengths are multiples of this. */
  readonly multiple: number
}

export interface Prepared {
  readonly packed: MicroBatch.Packed
  /** Those that `packed` refers to by index. */
  readonly sequences: ReadonlyArray<TrainingSequence.TrainingSequence>
  readonly counts: TrainingSequence.SequenceCounts
  readonly staleness: Staleness.Figures
}

/** Attention costs as much as all else at rows of about this many hidden sizes. */
const attentionLengths = 6

export const make =
  ({ model, multiple, objective, settings }: Options) =>
  (groups: ReadonlyArray<ScoredGroup.ScoredGroup>, policyVersion: number): Prepared => {
    const { maxStaleness, onStale, seqLen, temperature, tokenBudget, tooLong } = settings
    const { figures, groups: fresh } = Staleness.apply(groups, policyVersion, {
      maxStaleness,
      action: onStale,
      isAbsolute: objective.baseline === "none" || !objective.isPolicyGradient
    })
    const { counts, sequences } = TrainingSequence.ofGroups(fresh, objective, temperature)
    const packed = MicroBatch.pack(sequences, objective, {
      ...MicroBatch.defaults,
      maxLength: seqLen,
      tokenBudget: Math.max(tokenBudget, seqLen),
      tooLong,
      multiple,
      attentionLength: attentionLengths * model.hiddenSize,
      vocabSize: model.vocabSize,
      skipZeroAdvantage: objective.isAdvantageOnly
    })
    return { packed, sequences, counts, staleness: figures }
  }
