/**
 * Sends data for the viewer to the trajectory service: metrics, reports, the text of tokens, evaluations. Training
 * works without it, and services without a viewer (the original's, the in-memory one) do not accept it.
 */
import { Context, Effect, Option } from "effect"
import { HttpBody, HttpClientRequest } from "effect/http"
import * as EvaluationRecord from "./EvaluationRecord.ts"
import * as PackedLogprobs from "./PackedLogprobs.ts"
import * as Readings from "./Readings.ts"
import type * as ServiceApi from "./ServiceApi.ts"
import { type EnvironmentReport, logprobsContentType, type SourceSettings } from "./TrajectoryApi.ts"
import type { TrajectoryError } from "./TrajectoryError.ts"

export interface Telemetry {
  /** Metrics of a step, from an environment or the trainer, for viewers and Prometheus. */
  readonly recordMetrics: (metrics: {
    readonly source: string
    readonly step: number
    readonly values: { readonly [name: string]: number }
  }) => Effect.Effect<void, TrajectoryError>
  /** The start settings of an environment or the trainer; the last ones of a source count. */
  readonly recordSettings: (settings: SourceSettings) => Effect.Effect<void, TrajectoryError>
  /** The text of token ids; at most 20,000 per call. Text that the service already has is kept. */
  readonly recordPieces: (pieces: ReadonlyMap<number, string>) => Effect.Effect<void, TrajectoryError>
  /** Status report of an environment; the last one is kept. */
  readonly recordReport: (envId: number, report: EnvironmentReport) => Effect.Effect<void, TrajectoryError>
  /** An evaluation of the run's policy, with its samples. Recording it again under its key stores it once. */
  readonly recordEvaluation: (evaluation: EvaluationRecord.EvaluationRecord) => Effect.Effect<void, TrajectoryError>
  /**
   * The logprobs that a batch's trainer computed, replacing those recorded before. Fails with `leaseLost` if another
   * trainer has the batch, with `notFound` or `unsupported` if the service is older.
   */
  readonly recordLogprobs: (
    batchId: string,
    logprobs: PackedLogprobs.RecordedLogprobs
  ) => Effect.Effect<void, TrajectoryError>
}

export interface TelemetryClientShape {
  /** None if the service accepts none. */
  readonly telemetry: Effect.Effect<Option.Option<Telemetry>, TrajectoryError>
}

export class TelemetryClient extends Context.Service<TelemetryClient, TelemetryClientShape>()(
  "@atropos/core/TelemetryClient"
) {}

/** For a service without a viewer. */
export const none: TelemetryClientShape = { telemetry: Effect.succeedNone }

/** Uses the versioned endpoints. */
export const overHttp = ({ api, call, http, run }: ServiceApi.ServiceApi): TelemetryClientShape => ({
  telemetry: Effect.succeedSome<Telemetry>({
    recordMetrics: ({ values, ...metrics }) =>
      Effect.asVoid(
        call(api.metrics.record({ params: { run }, payload: { ...metrics, values: Readings.encode(values) } }))
      ),
    recordSettings: (payload) => call(api.metrics.recordSettings({ params: { run }, payload })),
    recordPieces: (pieces) =>
      call(api.groups.recordPieces({ params: { run }, payload: { pieces: Object.fromEntries(pieces) } })),
    recordReport: (envId, report) => call(api.environments.report({ params: { run, envId }, payload: report })),
    recordEvaluation: (evaluation) => Effect.asVoid(EvaluationRecord.send({ api, call }, run, evaluation)),
    recordLogprobs: (batchId, logprobs) =>
      Effect.suspend(() =>
        http.send(
          HttpClientRequest.put(`/v1/runs/${encodeURIComponent(run)}/batches/${encodeURIComponent(batchId)}/logprobs`, {
            body: HttpBody.uint8Array(PackedLogprobs.encode(logprobs), logprobsContentType)
          })
        )
      ).pipe(Effect.asVoid)
  })
})
