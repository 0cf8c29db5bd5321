/**
 * Sends an evaluation to the trajectory service: first its metrics, then its samples in parts, so that no request is
 * large.
 */
import { Effect } from "effect"
import * as ServiceApi from "./ServiceApi.ts"
import type * as ServiceHttp from "./ServiceHttp.ts"
import type { EvaluationRow } from "./TrajectoryApi.ts"
import type { TrajectoryError } from "./TrajectoryError.ts"

export interface EvaluationRecord {
  /** UUID; sending again under the same key has no effect. */
  readonly key: string
  /** The environment or suite. */
  readonly name: string
  readonly model: string
  /** The step of the run's trainer; null if it belongs to none. */
  readonly step: number | null
  readonly seconds: number
  readonly figures: { readonly [name: string]: number }
  /** Each as a line of `samples.jsonl`. */
  readonly samples: ReadonlyArray<object>
}

export interface Part {
  readonly from: number
  readonly samples: ReadonlyArray<object>
}

const maxSamples = 250
/** Max characters of JSON text per part. */
const maxLength = 4 * 1024 * 1024

/** Splits samples into one part per request. */
export const parts = (samples: ReadonlyArray<object>): ReadonlyArray<Part> => {
  const all: Array<{ readonly from: number; readonly samples: Array<object> }> = []
  let length = 0
  for (const [from, sample] of samples.entries()) {
    const own = JSON.stringify(sample).length
    const last = all.at(-1)
    if (last === undefined || last.samples.length === maxSamples || length + own > maxLength) {
      all.push({ from, samples: [sample] })
      length = own
    } else {
      last.samples.push(sample)
      length += own
    }
  }
  return all
}

/** Drops metrics that JSON cannot represent. */
export const specOf = ({ figures, samples, ...rest }: EvaluationRecord, run: string | null) => ({
  ...rest,
  run,
  figures: Object.fromEntries(Object.entries(figures).filter(([, value]) => Number.isFinite(value))),
  samples: samples.length
})

/** Sends it; existing samples on the service are kept. */
export const send = Effect.fn("EvaluationRecord.send")(function* (
  { api, call }: Pick<ServiceApi.ServiceApi, "api" | "call">,
  run: string | null,
  evaluation: EvaluationRecord
): Effect.fn.Return<EvaluationRow, TrajectoryError> {
  const row = yield* call(api.evaluations.record({ payload: specOf(evaluation, run) }))
  yield* Effect.forEach(
    parts(evaluation.samples),
    (payload) => call(api.evaluations.recordSamples({ params: { id: row.id }, payload })),
    { discard: true }
  )
  return row
})

/** Sends it to the service at an address; `run` null: not part of a run. */
export const sendTo = Effect.fn("EvaluationRecord.sendTo")(function* (
  { run, ...options }: ServiceHttp.Options & { readonly run: string | null },
  evaluation: EvaluationRecord
) {
  return yield* send(yield* ServiceApi.make(options), run, evaluation)
})
