/** Handles reading and recording of evaluations. */
import { Effect, Option } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { TrajectoryApi, TrajectoryApiError as ApiError } from "@atropos/core"
import * as SampleHead from "@atropos/core/evaluation/SampleHead"
import {
  EvaluationReader,
  type EvaluationReaderShape,
  EvaluationStore,
  UnknownEvaluation
} from "../store/EvaluationStore.ts"
import * as StoreFailures from "./StoreFailures.ts"

const defaultPage = 200
const defaultSamples = 1000

const failures = {
  ...StoreFailures.plain,
  UnknownEvaluation: ({ id }: UnknownEvaluation) =>
    Effect.fail(new ApiError.NotFound({ message: `no evaluation ${id}` }))
}

/** Used without an `EvaluationReader` in the context. */
const none: EvaluationReaderShape = {
  evaluations: () => Effect.succeed({ evaluations: [], next: null }),
  evaluation: () => Effect.succeedNone,
  samples: (id) => Effect.fail(new UnknownEvaluation({ id })),
  sample: () => Effect.succeedNone
}

const orNotFound =
  (message: string) =>
  <A>(found: Option.Option<A>): Effect.Effect<A, ApiError.NotFound> =>
    Option.match(found, { onNone: () => Effect.fail(new ApiError.NotFound({ message })), onSome: Effect.succeed })

export const layerReading = HttpApiBuilder.group(
  TrajectoryApi.ReadingApi,
  "evaluationReading",
  Effect.fnUntraced(function* (handlers) {
    const reader = Option.getOrElse(yield* Effect.serviceOption(EvaluationReader), () => none)
    return handlers
      .handle("list", ({ query }) =>
        Effect.catchTags(reader.evaluations({ ...query, limit: query.limit ?? defaultPage }), StoreFailures.plain)
      )
      .handle("get", ({ params: { id } }) =>
        reader
          .evaluation(id)
          .pipe(Effect.catchTags(StoreFailures.plain), Effect.flatMap(orNotFound(`no evaluation ${id}`)))
      )
      .handle("samples", ({ params: { id }, query: { from = 0, limit = defaultSamples } }) =>
        Effect.catchTags(reader.samples(id, { from, limit }), failures)
      )
      .handle("sample", ({ params: { id, number } }) =>
        reader.sample(id, Number(number)).pipe(
          Effect.catchTags(StoreFailures.plain),
          Effect.flatMap(orNotFound(`evaluation ${id} has no sample ${number}`)),
          Effect.map((sample) => ({ sample }))
        )
      )
  })
)

export const layer = HttpApiBuilder.group(
  TrajectoryApi.TrajectoryApi,
  "evaluations",
  Effect.fnUntraced(function* (handlers) {
    const found = yield* Effect.serviceOption(EvaluationStore)
    const store = Effect.fromOption(found).pipe(
      Effect.mapError(() => new ApiError.Internal({ message: "this service does not store evaluations" }))
    )
    return handlers
      .handle("record", ({ payload }) =>
        Effect.flatMap(store, ({ record }) => Effect.catchTags(record(payload), StoreFailures.plain))
      )
      .handle(
        "recordSamples",
        Effect.fnUntraced(function* ({ params: { id }, payload: { from, samples } }) {
          const { recordSamples } = yield* store
          const odd = samples.findIndex((one) => SampleHead.of(one) === undefined)
          if (odd >= 0) {
            return yield* new ApiError.Invalid({
              message: `samples.${odd}: expected an object with item, score (a finite number) and correct (true or false, or absent)`,
              field: `samples.${odd}`
            })
          }
          yield* Effect.catchTags(recordSamples(id, from, samples), failures)
        })
      )
  })
)
