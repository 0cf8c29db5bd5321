/** Sequences chosen and packed, as the local engine gets to see them. */
import type { AggregationSettings } from "../../src/loss/Aggregation.ts"
import type { TrainingSequence } from "../../src/learn/TrainingSequence.ts"
import * as WeightedBatch from "../../src/learn/WeightedBatch.ts"
import * as MicroBatch from "../../src/local/MicroBatch.ts"

export type Settings = MicroBatch.PackSettings & WeightedBatch.Settings

export const of = (
  sequences: ReadonlyArray<TrainingSequence>,
  aggregation: AggregationSettings,
  settings: Partial<Settings> & { readonly vocabSize: number }
) => {
  const whole = { ...MicroBatch.defaults, ...settings }
  const { batch, report } = WeightedBatch.choose(sequences, aggregation, whole)
  const microBatches = MicroBatch.pack(batch, whole)
  return { batch, microBatches, report, positions: MicroBatch.positions(microBatches) }
}
