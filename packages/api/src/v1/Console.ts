/** Handles requests for the last lines of this process. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { TrajectoryApi } from "@atropos/core"
import { ConsoleLines } from "@atropos/core/base/ConsoleLines"

export const layer = HttpApiBuilder.group(
  TrajectoryApi.TrajectoryApi,
  "console",
  Effect.fnUntraced(function* (handlers) {
    const lines = yield* ConsoleLines
    return handlers.handleAll({ last: () => Effect.sync(() => ({ lines: lines.last() })) })
  })
)
