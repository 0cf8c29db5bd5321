/** Reconstructs `StepMetrics` of a trainer's steps from the metrics a service recorded. */
import type { TrajectoryApi } from "@atropos/core"
import * as StepMetrics from "@atropos/trainer/run/StepMetrics"

/** Defaults for metrics a third-party trainer may not record. */
const none = {
  policyVersion: 0,
  updates: 0,
  loss: Number.NaN,
  lr: 0,
  rewardMean: Number.NaN,
  rewardStd: Number.NaN,
  sequences: 0,
  groups: 0,
  constantGroups: 0,
  unusable: 0,
  unknownLogprobs: 0,
  truncatedFraction: 0,
  truncatedMaskedFraction: 0,
  trainedTokens: 0,
  usefulFraction: 0,
  microBatches: 0,
  tokensPerSecond: 0,
  stalenessMean: Number.NaN,
  stalenessMax: 0,
  staleDropped: 0,
  staleMasked: 0,
  versionUnknown: 0,
  stepSeconds: 0,
  waitSeconds: 0,
  prepareSeconds: 0,
  computeSeconds: 0,
  updateSeconds: 0,
  publishSeconds: 0,
  saveSeconds: 0
}

const skippedIn = (values: TrajectoryApi.MetricsRow["values"]): StepMetrics.StepMetrics["skipped"] => {
  if (values[StepMetrics.skippedNames.nonFinite] === 1) return "nonFinite"
  return values[StepMetrics.skippedNames.any] === 1 ? "nothingToTrain" : null
}

/** The step of a trainer's row; undefined for other rows. */
export const ofRow = ({ step, values }: TrajectoryApi.MetricsRow): StepMetrics.StepMetrics | undefined => {
  if (values[StepMetrics.wireNames.rewardMean] === undefined) return undefined
  const told = Object.entries(StepMetrics.wireNames).flatMap(([key, name]) => {
    const value = values[name]
    return value === undefined ? [] : [[key, value] as const]
  })
  return { ...none, ...Object.fromEntries(told), step, batchId: "", skipped: skippedIn(values) }
}
