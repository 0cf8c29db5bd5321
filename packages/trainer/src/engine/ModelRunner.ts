/**
 * Interface of a model run over new positions of several sequences.
 *
 * Positions beyond a row's own count are padding, with finite but meaningless results. At least two rows go through
 * every matmul, because one row would use other kernels with slightly different numbers.
 */
import type { Effect } from "effect"
import type { ExecutorError } from "../exec/Executor.ts"
import type { KvCache } from "./cache/KvCache.ts"
import type { KvShape } from "./cache/KvShape.ts"
import type { Row } from "./Sampler.ts"

/** B rows of T new positions each, which follow the contents of the cache's first B rows. */
export interface RunInput {
  readonly rows: number
  readonly width: number
  /** [B, T] token ids, padded on the right. */
  readonly tokens: Int32Array
  readonly cache: KvCache
  /** [B] non-padding positions of each row; only these change its states, if the model has any. */
  readonly counts: Int32Array
  /** [R] indices b * T + t whose logits are requested, at least two. */
  readonly outputs: Int32Array
  /** [R] for the returned rows. */
  readonly inverseTemperatures: Float32Array
}

export interface RunOutput {
  /** (R) */
  readonly rows: ReadonlyArray<Row>
  /** [L, 2, B, KV, T, D] keys and values of the new positions. */
  readonly entries: Float32Array
  /** [L, B, size] states after the new positions, if the model has any. */
  readonly states?: Float32Array | undefined
  /** Expert choices at the new positions, if the model records them. */
  readonly routed?: Routed | undefined
}

/** [B, T, W] choices of B rows of T positions, packed as in `RoutedExperts`. */
export interface Routed {
  /** W */
  readonly words: number
  readonly data: Int32Array
}

/** Copies the choices of `count` positions of a row of `width`. */
export const routedOf = (
  { data, words }: Routed,
  row: number,
  width: number,
  from: number,
  count: number
): Int32Array => data.slice((row * width + from) * words, (row * width + from + count) * words)

/** `W` is the type of weights on the device. */
export interface ModelRunner<W> {
  readonly shape: KvShape
  readonly vocabulary: number
  readonly run: (weights: W, input: RunInput) => Effect.Effect<RunOutput, ExecutorError>
  /** Uploads weights from a flat vector in the model's layout. */
  readonly put: (parameters: Float32Array) => Effect.Effect<W, ExecutorError>
  readonly free: (weights: W) => Effect.Effect<void>
}
