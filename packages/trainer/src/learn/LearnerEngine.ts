/**
 * Where learning happens: an engine that has a model, and computes gradients and updates for it. The local one runs
 * graphs in this machine's executor, a remote one speaks to a server. `Trainer` and everything above it know no other
 * difference.
 *
 * Weights stay with their engine. Outside they are a version (how many steps changed them) and a reference, which names
 * a durable copy that the same engine can restore. A learner is used by one caller at a time.
 *
 * Failures. `engine`: it refuses, or does not answer for longer than is waited. `engineLost`: it answers, and no longer
 * has the weights; nothing but loading again helps. `checkpoint`: a copy cannot be written or restored. `settings`: it
 * cannot do what is asked, by name. All else is as `TrainerError` says.
 */
import type { TokenizerIdentity } from "@atropos/core/inference/tokenizer/TokenizerIdentity"
import { Context, type Effect, type Scope } from "effect"
import type { Remat } from "../model/Decoder.ts"
import type { Objective } from "../loss/Objective.ts"
import type { TrainerError } from "./TrainerError.ts"
import type { WeightedBatch } from "./WeightedBatch.ts"

/** Names a durable copy of weights and optimizer: a file of this machine, a path of a server. Never holds a key. */
export interface WeightsReference {
  /** `name` of the engine that wrote it. */
  readonly engine: string
  readonly path: string
}

/** A durable copy: its reference, and the folder that it was saved with, wherever that lies now. */
export interface Kept {
  readonly reference: WeightsReference
  readonly folder: string
}

/** What the graphs made of a batch. */
export interface Computed {
  /** Σ token weight · ℓ over the batch. */
  readonly loss: number
  /** By name: sums over trained tokens, or largest values (`TrainGraph`). */
  readonly figures: ReadonlyMap<string, number>
  /** Whether loss and figures are numbers; the gradient is looked at in the update. */
  readonly isFinite: boolean
  /** Micro-batches or messages that the batch was cut into. */
  readonly pieces: number
  /** Positions computed, padding included. */
  readonly positions: number
}

export interface Updated {
  /** Whether the weights changed; not where the gradient is not finite. */
  readonly isApplied: boolean
  /** Norm of the whole gradient before clipping; undefined where the engine does not tell. */
  readonly norm: number | undefined
}

/**
 * Is shown the logprobs of item `item` of the batch, (length) nats under the weights before the update, once for each
 * item, in any order; at positions that are not trained there may be 0. The array is the engine's: whoever keeps it
 * copies it.
 */
export type Look = (item: number, logprobs: Float32Array) => void

export interface Learner {
  /** log π of every item's target tokens under the present weights, (length) nats each, at the items' temperatures. */
  readonly forward: (batch: WeightedBatch) => Effect.Effect<ReadonlyArray<Float32Array>, TrainerError>
  /**
   * The gradient of a batch, in place of one that was not used. It may fail or be interrupted at any time: the weights
   * are untouched, it is forgotten.
   */
  readonly forwardBackward: (batch: WeightedBatch, look?: Look) => Effect.Effect<Computed, TrainerError>
  /** One step with the gradient of the last `forwardBackward`: whole or not at all. */
  readonly optimizerStep: (learningRate: number) => Effect.Effect<Updated, TrainerError>
  /** Forgets that gradient. */
  readonly discard: Effect.Effect<void, TrainerError>
  /**
   * Makes a durable copy of weights and optimizer. `folder` is new and becomes the checkpoint's once all is in it: an
   * engine writes there what it keeps on this machine.
   */
  readonly save: (folder: string, version: number) => Effect.Effect<WeightsReference, TrainerError>
  /** Lets samplers use the present weights as this version; done when they have them. */
  readonly publish: (version: number) => Effect.Effect<void, TrainerError>
}

/** AdamW, as `TrainerSettings` describes it. */
export interface OptimizerSettings {
  readonly beta1: number
  readonly beta2: number
  readonly epsilon: number
  readonly weightDecay: number
  /** Largest norm of the gradient; null: no limit. */
  readonly maxNorm: number | null
}

/** AdamW without decay; the gradient's norm is clipped to 1. */
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
  /** Most positions of an item. Default: the model's. */
  readonly maxLength?: number
  /** Positions to compute at once, padding included: limits memory, changes no results. Default: the engine's. */
  readonly tokenBudget?: number
  /** What the backward pass computes again. Default: the engine's choice. Changes no results but for rounding. */
  readonly remat?: false | Remat
  /** Bytes that the process may take. Default: what is there. */
  readonly memory?: number
  /** Mixtures of experts pass the experts that sampling passed. Default false. */
  readonly routerReplay?: boolean
  /**
   * What training began with, where that is not the model's own weights: the reference policy, and where to start,
   * without moments.
   */
  readonly initial?: Kept | undefined
  /** Where to go on: weights, moments and number of updates. */
  readonly from?: (Kept & { readonly version: number }) | undefined
}

export interface LearnerEngineShape {
  /** What messages and references call it: `local`, or the server's address without a key. */
  readonly name: string
  readonly model: {
    /** Folder, hub id or base model of a server; a checkpoint of another model is refused. */
    readonly name: string
    /** What ids mean to it, where that is known. */
    readonly tokenizer?: TokenizerIdentity
    readonly vocabSize: number
    /** Longest row, tokens. */
    readonly maxPositions: number
  }
  /**
   * A learner, which lives as long as the scope. Fails with reason `settings` where the engine cannot do what the
   * objective needs, with `checkpoint` where a copy cannot be restored: an older one may be tried.
   */
  readonly load: (options: LoadOptions) => Effect.Effect<Learner, TrainerError, Scope.Scope>
}

export class LearnerEngine extends Context.Service<LearnerEngine, LearnerEngineShape>()(
  "@atropos/trainer/learn/LearnerEngine"
) {}
