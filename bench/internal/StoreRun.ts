/** A run with one environment in a store, for benchmarks without HTTP. */
import type { TrajectoryStore } from "@atropos/api"
import { Effect } from "effect"

export const begin = Effect.fnUntraced(function* (
  store: TrajectoryStore.TrajectoryStoreShape,
  run: string,
  { batchSize, groupSize }: { readonly batchSize: number; readonly groupSize: number }
) {
  yield* store.registerRun({
    name: run,
    batchSize,
    maxTokenLength: 2048,
    startingStep: 0,
    numSteps: 1e6,
    checkpointDir: "",
    saveCheckpointInterval: 0,
    wandbGroup: "",
    wandbProject: ""
  })
  yield* store.start(run)
  yield* store.registerEnvironment(run, {
    desiredName: "bench",
    weight: 1,
    groupSize,
    maxTokenLength: 2048,
    minBatchAllocation: null
  })
})
