/**
 * Interface of a learning engine, which holds a model and computes its gradients and updates: the local one on this
 * machine's executor, a remote one on a server.
 *
 * Weights stay in their engine; elsewhere they are a version (number of steps that changed them) and a reference, which
 * names a durable copy that the same engine can restore. One caller at a time may use a learner.
 *
 * Failures: `engine` if it rejects a request or does not answer in time; `engineLost` if it no longer has the weights,
 * so that only loading again helps; `checkpoint` if a copy cannot be written or restored; `settings` if a request is
 * unsupported. For the rest see `TrainerError`.
 */
import type { TokenizerIdentity } from "@atropos/core/inference/tokenizer/TokenizerIdentity"
import { Context, type Effect, type Scope } from "effect"
import type { Remat } from "../model/Decoder.ts"
import type { Objective } from "../loss/Objective.ts"
import type { TrainerError } from "./TrainerError.ts"
import type { WeightedBatch } from "./WeightedBatch.ts"

/** Names a durable copy of weights and optimizer: a local file or a path on a server. Never contains a key. */
export interface WeightsReference {
  /** `name` of the engine that wrote it. */
  readonly engine: string
  readonly path: string
}

/** A durable copy: its reference, and the current location of the folder that it was saved with. */
export interface Kept {
  readonly reference: WeightsReference
  readonly folder: string
}

export interface Computed {
  /** Σ token weight · ℓ over the batch. */
  readonly loss: number
  /** By name: sums over trained tokens, or maxima (`TrainGraph`). */
  readonly figures: ReadonlyMap<string, number>
  /** True if loss and metrics are finite; the gradient is checked in the update. */
  readonly isFinite: boolean
  /** Micro-batches or requests that the batch was split into. */
  readonly microBatches: number
  /** Positions computed, padding included. */
  readonly positions: number
  /** Positions of prompts that were computed once for several sequences. Default: none. */
  readonly saved?: number
}

export interface Updated {
  /** False if the gradient is not finite: the weights are unchanged. */
  readonly isApplied: boolean
  /** Gradient norm before clipping; undefined if the engine does not report it. */
  readonly norm: number | undefined
}

/**
 * Called with the logprobs of item `item` of the batch, (length) nats under the weights before the update, once per
 * item, in any order; untrained positions may be 0. The engine owns the array: copy it to keep it.
 */
export type LogprobCallback = (item: number, logprobs: Float32Array) => void

export interface Learner {
  /** log π of every item's target tokens under the current weights, (length) nats each, at the items' temperatures. */
  readonly forward: (batch: WeightedBatch) => Effect.Effect<ReadonlyArray<Float32Array>, TrainerError>
  /**
   * Computes the gradient of a batch; replaces an unused one. May fail or be interrupted at any time: the weights are
   * unchanged and the gradient is discarded.
   */
  readonly forwardBackward: (
    batch: WeightedBatch,
    onLogprobs?: LogprobCallback
  ) => Effect.Effect<Computed, TrainerError>
  /** Makes one step with the gradient of the last `forwardBackward`; atomic. */
  readonly optimizerStep: (learningRate: number) => Effect.Effect<Updated, TrainerError>
  readonly discard: Effect.Effect<void, TrainerError>
  /**
   * Makes a durable copy of weights and optimizer. `folder` is new and becomes the checkpoint's when complete; an
   * engine writes its local files there.
   */
  readonly save: (folder: string, version: number) => Effect.Effect<WeightsReference, TrainerError>
  /** Publishes the current weights to samplers as this version; completes when they have them. */
  readonly publish: (version: number) => Effect.Effect<void, TrainerError>
}

/** AdamW; see `TrainerSettings`. */
export interface OptimizerSettings {
  readonly beta1: number
  readonly beta2: number
  readonly epsilon: number
  readonly weightDecay: number
  /** Max gradient norm; null: no limit. */
  readonly maxNorm: number | null
}

/** AdamW without weight decay; clips the gradient norm to 1. */
export const defaultOptimizer: OptimizerSettings = {
  beta1: 0.9,
  beta2: 0.95,
  epsilon: 1e-8,
  weightDecay: 0,
  maxNorm: 1
}

export interface LoadOptions {
  readonly objective: Objective
  /** Default: `defaultOptimizer`. */
  readonly optimizer?: OptimizerSettings
  /** Max positions of an item. Default: the model's. */
  readonly maxLength?: number
  /**
   * Positions per micro-batch, padding included; a longer row is alone. Does not affect results. Default: the engine's.
   */
  readonly tokenBudget?: number
  /** Values that the backward pass recomputes. Default: the engine's choice. Affects results only by rounding. */
  readonly remat?: false | Remat
  /** Memory limit of the process, bytes. Default: the available memory. */
  readonly memory?: number
  /** Replay the sampler's expert routing in mixtures of experts. Default false. */
  readonly routerReplay?: boolean
  /** Initial weights instead of the model's own, without optimizer moments; they are also the reference policy. */
  readonly initial?: Kept | undefined
  /** Copy to resume from: weights, moments and number of updates. */
  readonly from?: (Kept & { readonly version: number }) | undefined
}

export interface LearnerEngineShape {
  /** Name in messages and references: `local`, or the server's address without a key. */
  readonly name: string
  readonly model: {
    /** Folder, hub id, or base model of a server; a checkpoint of another model is rejected. */
    readonly name: string
    readonly tokenizer?: TokenizerIdentity
    readonly vocabSize: number
    /** Max row length, tokens. */
    readonly maxPositions: number
  }
  /**
   * Loads a learner, which lives as long as the scope. Fails with reason `settings` if the engine does not support the
   * objective, with `checkpoint` if a copy cannot be restored: the caller may try an older one.
   */
  readonly load: (options: LoadOptions) => Effect.Effect<Learner, TrainerError, Scope.Scope>
}

export class LearnerEngine extends Context.Service<LearnerEngine, LearnerEngineShape>()(
  "@atropos/trainer/learn/LearnerEngine"
) {}
