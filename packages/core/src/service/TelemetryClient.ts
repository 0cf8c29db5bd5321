/**
 * What environments and trainers tell the trajectory service for people who look: metrics, reports, the text of tokens,
 * evaluations.
 * Training works without it, and a service that shows nothing to anybody (the original's, the one in memory) takes none
 * of it.
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
  /** What an environment or the trainer was started with; the last of a source counts. */
  readonly recordSettings: (settings: SourceSettings) => Effect.Effect<void, TrajectoryError>
  /** The text of token ids; at most 20,000 at once. Text that the service has already stays. */
  readonly recordPieces: (pieces: ReadonlyMap<number, string>) => Effect.Effect<void, TrajectoryError>
  /** What an environment says of itself; the last report is kept. */
  readonly recordReport: (envId: number, report: EnvironmentReport) => Effect.Effect<void, TrajectoryError>
  /** An evaluation of the run's policy, with its samples. Recording it again under its key stores it once. */
  readonly recordEvaluation: (evaluation: EvaluationRecord.EvaluationRecord) => Effect.Effect<void, TrajectoryError>
  /**
   * What the trainer of a batch computed of its sequences, in place of what was recorded of it before. Fails with
   * `leaseLost` where another trainer has the batch, with `notFound` or `unsupported` where the service is older.
   */
  readonly recordLogprobs: (
    batchId: string,
    logprobs: PackedLogprobs.RecordedLogprobs
  ) => Effect.Effect<void, TrajectoryError>
}

export interface TelemetryClientShape {
  /** None where the service takes none. */
  readonly telemetry: Effect.Effect<Option.Option<Telemetry>, TrajectoryError>
}

export class TelemetryClient extends Context.Service<TelemetryClient, TelemetryClientShape>()(
  "@atropos/core/TelemetryClient"
) {}

/** Of a service that shows nothing to anybody. */
export const none: TelemetryClientShape = { telemetry: Effect.succeedNone }

/** Over the versioned endpoints. */
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
