/**
 * Bodies about weights stored by the server, identified by a path: `tinker://<model>/weights/<name>` with the
 * optimizer's moments, for training; `tinker://<model>/sampler_weights/<name>` for sampling.
 */
import { wire } from "@atropos/core/service/api/Fields"
import { Schema } from "effect"
import { OptimizerConfig } from "./Model.ts"
import { Count, Metadata, optional } from "./Optional.ts"

export const SaveWeights = wire({
  modelId: Schema.String,
  path: optional(Schema.String),
  seqId: optional(Count),
  ttlSeconds: optional(Count),
  overwrite: optional(Schema.Boolean),
  userMetadata: optional(Metadata),
  type: optional(Schema.Literal("save_weights"))
})

export const WeightsSaved = wire({
  path: Schema.NonEmptyString,
  type: optional(Schema.Literal("save_weights"))
})

/**
 * Either into an untrained model (`modelId`, `seqId`), or as the first request of a new one (`sessionId`,
 * `modelSeqId`), whose id is then in the response.
 */
export const LoadWeights = wire({
  modelId: optional(Schema.String),
  seqId: optional(Count),
  sessionId: optional(Schema.String),
  modelSeqId: optional(Count),
  baseModel: optional(Schema.String),
  userMetadata: optional(Metadata),
  path: Schema.String,
  optimizer: Schema.Boolean,
  optimizerConfig: optional(OptimizerConfig),
  weightsAccessToken: optional(Schema.String),
  type: optional(Schema.Literal("load_weights"))
})

export const WeightsLoaded = wire({
  path: optional(Schema.String),
  modelId: optional(Schema.String),
  type: optional(Schema.Literal("load_weights"))
})

/** Under a name (`path`), or for a new sampling session with this number and without a name. */
export const SaveWeightsForSampler = wire({
  modelId: Schema.String,
  path: optional(Schema.String),
  samplingSessionSeqId: optional(Count),
  kind: optional(Schema.Literals(["snapshot", "inflight"])),
  seqId: optional(Count),
  ttlSeconds: optional(Count),
  userMetadata: optional(Metadata),
  type: optional(Schema.Literal("save_weights_for_sampler"))
})

export const WeightsSavedForSampler = wire({
  path: optional(Schema.String),
  type: optional(Schema.Literal("save_weights_for_sampler")),
  samplingSessionId: optional(Schema.String)
})

export const WeightsInfo = wire({
  baseModel: Schema.String,
  optimizerConfig: optional(OptimizerConfig),
  isLora: Schema.Boolean,
  loraRank: optional(Count),
  trainUnembed: optional(Schema.Boolean),
  trainMlp: optional(Schema.Boolean),
  trainAttn: optional(Schema.Boolean)
})

/** An entry of a training run's checkpoint list; times are ISO 8601. */
export const Checkpoint = wire({
  checkpointId: Schema.String,
  checkpointType: Schema.Literals(["training", "sampler", "external"]),
  time: Schema.String,
  tinkerPath: Schema.String,
  sizeBytes: optional(Count),
  public: optional(Schema.Boolean),
  userMetadata: optional(Metadata),
  expiresAt: optional(Schema.String)
})

export const TrainingRun = wire({
  trainingRunId: Schema.String,
  baseModel: Schema.String,
  modelOwner: Schema.String,
  isLora: Schema.Boolean,
  corrupted: optional(Schema.Boolean),
  loraRank: optional(Count),
  lastRequestTime: Schema.String,
  lastCheckpoint: optional(Checkpoint),
  lastSamplerCheckpoint: optional(Checkpoint),
  userMetadata: optional(Metadata)
})

export const Cursor = wire({ offset: Count, limit: Count, totalCount: Count })

export const TrainingRuns = wire({ trainingRuns: Schema.Array(TrainingRun), cursor: Cursor })

export const Checkpoints = Schema.Struct({ checkpoints: Schema.Array(Checkpoint), cursor: optional(Cursor) })
