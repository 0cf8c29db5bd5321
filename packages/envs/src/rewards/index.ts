/** Exports rewards: pure functions of a completion, their combinators, and the original's collection of them. */
export { accuracy, accuracyX, cascadingR1Math, r1 } from "./Accuracy.ts"
export { chandasMeter, scan } from "./ChandasMeter.ts"
export { cosineScaled, cosineSimilarity, Embedder, EmbeddingError, layerHuggingFace } from "./CosineScaled.ts"
export { crosswordFormat, format, formatReasoning, splitReasoning } from "./Format.ts"
export { cosineLengths, lengthPenalty } from "./LengthPenalty.ts"
export { reasoningSteps } from "./ReasoningSteps.ts"
export { create, names, type Registered, type RewardSpec, RewardSpecError } from "./Registry.ts"
export { repetitionPenalty } from "./Repetition.ts"
export {
  combine,
  components,
  make,
  makeEffect,
  type Normalization,
  type Reference,
  type Reward,
  rule,
  scores,
  stretched,
  weighted
} from "./Reward.ts"
export {
  fields as endpointFields,
  make as endpoint,
  type RewardEndpoint,
  RewardEndpointError,
  type Scored
} from "./RewardEndpoint.ts"
