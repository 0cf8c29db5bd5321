/** A model as the trainer sees it: a graph to learn through, the values to start from, and a way to write them down. */
import type { Effect, FileSystem, Path } from "effect"
import type * as MemoryPlan from "../learn/MemoryPlan.ts"
import type { Policy } from "../learn/TrainGraph.ts"

export interface TrainableModel {
  /** Folder or hub id; a checkpoint of another model is refused. */
  readonly name: string
  readonly policy: Policy
  readonly vocabSize: number
  readonly hiddenSize: number
  /** What the graph's memory is estimated from; without it whole parts are computed again. */
  readonly shape?: MemoryPlan.Shape
  /** Longest sequence it is made for, tokens. */
  readonly maxPositions: number
  /** Values of the layout's parameters before the first update; equal seeds give equal values. */
  readonly initial: Float32Array
  /** Writes the parameters into a folder in the form that others load: a PEFT adapter, or a model. */
  readonly writeWeights: (
    folder: string,
    parameters: Float32Array
  ) => Effect.Effect<void, { readonly message: string }, FileSystem.FileSystem | Path.Path>
}
