/** Converts evaluations for a saved page: the list row of each sample, and the group with its chat. */
import { type SavedGroup, TrajectoryApi } from "@atropos/core"
import * as SampleHead from "@atropos/core/evaluation/SampleHead"
import { Schema } from "effect"
import * as FileEvaluations from "./FileEvaluations.ts"

export interface StaticSample {
  readonly head: TrajectoryApi.EvaluationSampleRow
  /** The group with its chat. */
  readonly group: string
  readonly fields: object
}

const encodeRow = Schema.encodeSync(TrajectoryApi.EvaluationRow)
const encodeHead = Schema.encodeSync(TrajectoryApi.EvaluationSampleRow)

/** Empty if the line is not a sample. */
export const ofLine = ({ line, sample }: Pick<SavedGroup.Saved, "line" | "sample">): ReadonlyArray<StaticSample> => {
  const head = SampleHead.of(sample)
  if (head === undefined) return []
  const { completion: _, messages: __, ...fields } = sample ?? {}
  return [{ head: { ...head, number: line }, group: String(line), fields }]
}

/** Empty if the file has no samples. */
export const evaluationOf = (
  { file, index, name }: { readonly file: string; readonly name: string; readonly index: number },
  samples: ReadonlyArray<StaticSample>
): ReadonlyArray<object> =>
  samples.length === 0
    ? []
    : [
        {
          row: encodeRow(
            FileEvaluations.rowOf(
              { file, id: String(index + 1), name },
              samples.map(({ head }) => head)
            )
          ),
          samples: samples.map(({ head, ...sample }) => ({ ...sample, head: encodeHead(head) }))
        }
      ]
