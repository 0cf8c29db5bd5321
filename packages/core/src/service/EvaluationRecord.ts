/**
 * An evaluation as whoever made it tells it to the trajectory service: its figures first, then its samples, part by
 * part, so that no request is large.
 */
import { Effect } from "effect"
import * as ServiceApi from "./ServiceApi.ts"
import type * as ServiceHttp from "./ServiceHttp.ts"
import type { EvaluationRow } from "./TrajectoryApi.ts"
import type { TrajectoryError } from "./TrajectoryError.ts"

export interface EvaluationRecord {
  /** UUID; sending it again under the same key changes nothing. */
  readonly key: string
  /** The environment or suite. */
  readonly name: string
  readonly model: string
  /** Of the run's trainer; null where it belongs to none. */
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

const mostSamples = 250
/** Of JSON text. */
const mostLength = 4 * 1024 * 1024

/** Samples that go in one request. */
export const parts = (samples: ReadonlyArray<object>): ReadonlyArray<Part> => {
  const all: Array<{ readonly from: number; readonly samples: Array<object> }> = []
  let length = 0
  for (const [from, sample] of samples.entries()) {
    const own = JSON.stringify(sample).length
    const last = all.at(-1)
    if (last === undefined || last.samples.length === mostSamples || length + own > mostLength) {
      all.push({ from, samples: [sample] })
      length = own
    } else {
      last.samples.push(sample)
      length += own
    }
  }
  return all
}

/** JSON has no figures that are not numbers. */
export const specOf = ({ figures, samples, ...rest }: EvaluationRecord, run: string | null) => ({
  ...rest,
  run,
  figures: Object.fromEntries(Object.entries(figures).filter(([, value]) => Number.isFinite(value))),
  samples: samples.length
})

/** Sends it; what the service knows already stays. */
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

/** Sends it to the service at an address; of no run where none is named. */
export const sendTo = Effect.fn("EvaluationRecord.sendTo")(function* (
  { run, ...options }: ServiceHttp.Options & { readonly run: string | null },
  evaluation: EvaluationRecord
) {
  return yield* send(yield* ServiceApi.make(options), run, evaluation)
})
