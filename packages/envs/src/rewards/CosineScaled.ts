/**
 * Rewards semantic similarity to the reference: cosine similarity of sentence embeddings.
 *
 * clamp(1 - cosineDistance · scaleFactor, minReward, maxReward). Source: cosine_scaled_reward.py of the original.
 * Embeddings come from a service; its Hugging Face layer needs the package @huggingface/transformers, and downloads the
 * model on first use (about 90 MB for the default one).
 */
import { Context, Effect, Layer, Schema } from "effect"
import * as OnnxTelemetry from "@atropos/core/base/system/OnnxTelemetry"
import * as Optional from "../base/Optional.ts"
import { makeEffect, type Reference, type Reward } from "./Reward.ts"

export class EmbeddingError extends Schema.TaggedError<EmbeddingError>()("EmbeddingError", {
  model: Schema.String,
  message: Schema.String,
  cause: Schema.Defect()
}) {}

/** Texts to vectors of equal length, mean-pooled over their tokens. */
export class Embedder extends Context.Service<
  Embedder,
  { readonly embed: (texts: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<ArrayLike<number>>, EmbeddingError> }
>()("@atropos/envs/rewards/CosineScaled/Embedder") {}

export const layerHuggingFace = (
  model = "sentence-transformers/all-MiniLM-L6-v2"
): Layer.Layer<Embedder, EmbeddingError> =>
  Layer.effect(
    Embedder,
    Effect.gen(function* () {
      const failure = (cause: unknown) =>
        new EmbeddingError({ model, message: `cannot use the embedding model ${model}`, cause })
      const { pipeline } = yield* Optional.load(["@huggingface/transformers"], "an embedding model", () => {
        OnnxTelemetry.disable()
        return import("@huggingface/transformers")
      })
      const extract = yield* Effect.tryPromise({ try: () => pipeline("feature-extraction", model), catch: failure })
      return {
        embed: (texts) =>
          Effect.tryPromise({ try: () => extract(Array.from(texts), { pooling: "mean" }), catch: failure }).pipe(
            Effect.map((tensor) => tensor.tolist() as ReadonlyArray<ReadonlyArray<number>>)
          )
      }
    })
  )

/** Cosine similarity in [-1, 1]; 0 if a vector is zero. */
export const cosineSimilarity = (a: ArrayLike<number>, b: ArrayLike<number>): number => {
  let dot = 0
  let squaredA = 0
  let squaredB = 0
  for (let i = 0; i < a.length; i++) {
    dot += a[i]! * b[i]!
    squaredA += a[i]! ** 2
    squaredB += b[i]! ** 2
  }
  const norms = Math.sqrt(squaredA) * Math.sqrt(squaredB)
  return norms === 0 ? 0 : dot / norms
}

/** Needs `reference.solution`. */
export const cosineScaled = ({
  maxReward = 1,
  minReward = -1,
  scaleFactor = 1
}: { readonly scaleFactor?: number; readonly minReward?: number; readonly maxReward?: number } = {}): Reward<
  EmbeddingError,
  Embedder
> =>
  makeEffect(
    "cosine_scaled",
    Effect.fn("CosineScaled.compute")(function* (completion: string, { solution = "" }: Reference) {
      const { embed } = yield* Embedder
      const [a, b] = yield* embed([completion, solution])
      const distance = 1 - cosineSimilarity(a!, b!)
      return Math.max(minReward, Math.min(maxReward, 1 - distance * scaleFactor))
    })
  )
