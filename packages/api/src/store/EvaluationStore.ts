/**
 * Defines stores of evaluations, for reading and recording.
 *
 * `PgTrajectoryStore.layer` provides both over the service's database. `EvaluationReader` can be implemented over other
 * samples (as `atropos view` does over files); without one in the context, the endpoints find no evaluations.
 */
import { Context, type Effect, type Option, Schema } from "effect"
import type { TrajectoryApi } from "@atropos/core"
import type { StoreError } from "./TrajectoryStore.ts"

export class UnknownEvaluation extends Schema.TaggedError<UnknownEvaluation>()("UnknownEvaluation", {
  id: Schema.String
}) {}

export interface EvaluationFilter {
  readonly run?: string
  /** From the previous page's `next`. */
  readonly before?: string
  readonly limit: number
}

type Found<A> = Effect.Effect<Option.Option<A>, StoreError>

export interface EvaluationReaderShape {
  /** Newest first. */
  readonly evaluations: (filter: EvaluationFilter) => Effect.Effect<TrajectoryApi.EvaluationPage, StoreError>
  readonly evaluation: (id: string) => Found<TrajectoryApi.EvaluationRow>
  /** Samples from a number on, in order. */
  readonly samples: (
    id: string,
    page: { readonly from: number; readonly limit: number }
  ) => Effect.Effect<TrajectoryApi.EvaluationSamplePage, StoreError | UnknownEvaluation>
  readonly sample: (id: string, number: number) => Found<unknown>
}

export class EvaluationReader extends Context.Service<EvaluationReader, EvaluationReaderShape>()(
  "@atropos/api/EvaluationReader"
) {}

export interface EvaluationStoreShape {
  /** A key is stored once. */
  readonly record: (spec: TrajectoryApi.EvaluationSpec) => Effect.Effect<TrajectoryApi.EvaluationRow, StoreError>
  /** Stores samples from a number on, each a sample (`SampleHead.of`); existing ones are kept. */
  readonly recordSamples: (
    id: string,
    from: number,
    samples: ReadonlyArray<unknown>
  ) => Effect.Effect<void, StoreError | UnknownEvaluation>
}

export class EvaluationStore extends Context.Service<EvaluationStore, EvaluationStoreShape>()(
  "@atropos/api/EvaluationStore"
) {}
