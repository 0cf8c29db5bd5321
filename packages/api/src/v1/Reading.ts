/** Handles the viewer's read requests over any `RolloutReader`. */
import { Effect, Option, Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { TrajectoryApi, TrajectoryApi as Wire, TrajectoryApiError as ApiError } from "@atropos/core"
import * as Payloads from "../store/Payloads.ts"
import { type RolloutFilter, RolloutReader } from "../store/RolloutReader.ts"
import * as RolloutText from "../rollout/RolloutText.ts"
import * as BatchAnswer from "./BatchAnswer.ts"
import * as Events from "../http/Events.ts"
import * as StoreFailures from "./StoreFailures.ts"

const defaultPage = 50
const defaultMetrics = 1000
/** Larger ids are not tokens. */
const maxToken = 2 ** 31 - 1

const encodeRow = Schema.encodeEffect(Schema.fromJsonString(Schema.toCodecJson(Wire.RolloutRow)))
const metricsRows = Schema.Array(Wire.MetricsRow)

const isRowId = Schema.is(Schema.String.check(Schema.isPattern(/^\d{1,18}$/)))

const toFilter = ({
  limit = defaultPage,
  text = "",
  ...query
}: typeof Wire.RolloutQuery.Type): Effect.Effect<RolloutFilter, ApiError.Invalid> => {
  if (text.trim() === "") return Effect.succeed({ ...query, limit })
  const words = RolloutText.parse(text)
  return words === undefined
    ? Effect.fail(
        new ApiError.Invalid({
          message: "text: expected at least one word; letters and digits are searched",
          field: "text"
        })
      )
    : Effect.succeed({ ...query, limit, text: words })
}

export const layer = HttpApiBuilder.group(
  TrajectoryApi.ReadingApi,
  "reading",
  Effect.fnUntraced(function* (handlers) {
    const reader = yield* RolloutReader
    return handlers
      .handle("runs", () =>
        reader.runs.pipe(
          Effect.map((runs) => ({ runs })),
          Effect.catchTags(StoreFailures.plain)
        )
      )
      .handle("rollouts", ({ params, query }) =>
        Effect.flatMap(toFilter(query), (filter) =>
          Effect.catchTags(reader.rollouts(params.run, filter), StoreFailures.ofReading)
        )
      )
      .handle(
        "rollout",
        Effect.fnUntraced(function* ({ params, request }) {
          const found = yield* Effect.catchTags(reader.rollout(params.run, params.id), StoreFailures.ofReading)
          if (Option.isNone(found)) {
            return yield* new ApiError.NotFound({ message: `run ${params.run} has no group ${params.id}` })
          }
          const { payload, trained, ...row } = found.value
          if (BatchAnswer.acceptsPacked(request.headers["accept"])) {
            return HttpServerResponse.uint8Array(yield* Payloads.toPacked(payload), {
              contentType: Wire.packedContentType
            })
          }
          const head = yield* Effect.orDie(encodeRow(row))
          const group = yield* Payloads.toViewedJson(payload, trained)
          return HttpServerResponse.uint8Array(
            Buffer.concat([Buffer.from(`${head.slice(0, -1)},"group":`), ...group, Buffer.from("}")]),
            { contentType: "application/json" }
          )
        })
      )
      .handle("pieces", ({ params, query }) =>
        reader
          .pieces(
            params.run,
            query.ids
              ?.split(",")
              .map(Number)
              .filter((id) => id <= maxToken)
          )
          .pipe(
            Effect.map((pieces) => ({ pieces: Object.fromEntries(pieces) })),
            Effect.catchTags(StoreFailures.ofReading)
          )
      )
      .handle("metrics", ({ params, query }) =>
        Effect.catchTags(
          reader.metrics(params.run, { ...query, limit: query.limit ?? defaultMetrics }),
          StoreFailures.ofReading
        )
      )
      .handle("metricsEvents", ({ params, query, request }) => {
        // A reconnecting listener sends the last id it received.
        const last = request.headers["last-event-id"]
        return reader.metricsToCome(params.run, isRowId(last) ? last : query.after).pipe(
          Effect.map((rows) => Events.response("metrics", metricsRows, rows, (values) => values.at(-1)?.id)),
          Effect.catchTags(StoreFailures.ofReading)
        )
      })
      .handle("environments", ({ params }) =>
        reader.environments(params.run).pipe(
          Effect.map((environments) => ({ environments })),
          Effect.catchTags(StoreFailures.ofReading)
        )
      )
      .handle("distribution", ({ params, query }) =>
        Effect.catchTags(reader.distribution(params.run, query), StoreFailures.ofReading)
      )
      .handle("settings", ({ params }) =>
        reader.settings(params.run).pipe(
          Effect.map((sources) => ({ sources })),
          Effect.catchTags(StoreFailures.ofReading)
        )
      )
      .handle("batches", ({ params }) =>
        reader.batches(params.run).pipe(
          Effect.map((batches) => ({ batches })),
          Effect.catchTags(StoreFailures.ofReading)
        )
      )
  })
)
