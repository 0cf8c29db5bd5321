/**
 * One run of a decoder over new positions of several sequences: what the engine asks of a model.
 *
 * Positions beyond a row's own count are padding: what is computed for them is finite and of no meaning, and no real
 * position sees it. At least two rows of numbers go through every product of matrices: with one, other kernels are
 * used, and the same token would get slightly other numbers alone than in company.
 */
import type { Effect } from "effect"
import type { ExecutorError } from "../exec/Executor.ts"
import type { KvCache } from "./KvCache.ts"
import type { KvShape } from "./KvShape.ts"
import type { Row } from "./Sampler.ts"

/** B rows of T new positions each, after what the first B rows of the cache hold. */
export interface RunInput {
  readonly rows: number
  readonly width: number
  /** [B, T] token ids, padded on the right. */
  readonly tokens: Int32Array
  readonly cache: KvCache
  /** [B] positions of each row that are none of padding: what changes its states, where the model has such. */
  readonly counts: Int32Array
  /** [R] places b * T + t whose logits are wanted, at least two. */
  readonly outputs: Int32Array
  /** [R] of the rows that come back. */
  readonly inverseTemperatures: Float32Array
}

export interface RunOutput {
  /** (R) */
  readonly rows: ReadonlyArray<Row>
  /** [L, 2, B, KV, T, D] keys and values of the new positions. */
  readonly entries: Float32Array
  /** [L, B, size] states after the new positions, of a model that has some. */
  readonly states?: Float32Array | undefined
  /** What mixtures chose at the new positions, where the model writes that down. */
  readonly routed?: Routed | undefined
}

/** [B, T, W] choices of B rows of T positions, in the words of `RoutedExperts`. */
export interface Routed {
  /** W */
  readonly words: number
  readonly data: Int32Array
}

/** The choices of `count` positions of a row of `width`, copied. */
export const routedOf = (
  { data, words }: Routed,
  row: number,
  width: number,
  from: number,
  count: number
): Int32Array => data.slice((row * width + from) * words, (row * width + from + count) * words)

/** `W` stands for weights on the device. */
export interface ModelRunner<W> {
  readonly shape: KvShape
  readonly vocabulary: number
  readonly run: (weights: W, input: RunInput) => Effect.Effect<RunOutput, ExecutorError>
  /** Weights from a flat vector in the model's layout. */
  readonly put: (parameters: Float32Array) => Effect.Effect<W, ExecutorError>
  readonly free: (weights: W) => Effect.Effect<void>
}
