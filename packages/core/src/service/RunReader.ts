/** Reads the run's parameters announced by its trainer, for environments and other trainers. */
import { Effect, Option } from "effect"
import type * as ServiceApi from "./ServiceApi.ts"
import type { Run } from "./TrajectoryApi.ts"
import type { TrajectoryError } from "./TrajectoryError.ts"

/** Batch size and token limit of the run; -1 each if no run is registered. */
export interface RunInfo {
  readonly batchSize: number
  readonly maxTokenLength: number
  /** Staleness in steps at which the service holds environments back; null or absent if it does not. */
  readonly waitAtStaleness?: number | null
}

export interface RunReader {
  readonly runInfo: Effect.Effect<RunInfo, TrajectoryError>
  /** Group and project of Weights & Biases; null each if no run is registered. */
  readonly wandbInfo: Effect.Effect<{ readonly group: string | null; readonly project: string | null }, TrajectoryError>
}

export const ofRun = (run: Effect.Effect<Option.Option<Run>, TrajectoryError>): RunReader => {
  const registered = Effect.map(
    run,
    Option.filter((run) => run.registered)
  )
  return {
    runInfo: Effect.map(
      registered,
      Option.match({
        onNone: (): RunInfo => ({ batchSize: -1, maxTokenLength: -1 }),
        onSome: ({ batchSize, maxTokenLength, waitAtStaleness = null }): RunInfo => ({
          batchSize,
          maxTokenLength,
          ...(waitAtStaleness !== null && { waitAtStaleness })
        })
      })
    ),
    wandbInfo: Effect.map(
      registered,
      Option.match({
        onNone: () => ({ group: null, project: null }),
        onSome: ({ wandbGroup, wandbProject }) => ({ group: wandbGroup, project: wandbProject })
      })
    )
  }
}

/** Uses the versioned endpoints. */
export const overHttp = ({ api, call, run }: Pick<ServiceApi.ServiceApi, "api" | "call" | "run">): RunReader =>
  ofRun(
    call(api.runs.get({ params: { run } })).pipe(
      Effect.asSome,
      Effect.catchIf(
        ({ reason }) => reason === "notFound",
        () => Effect.succeedNone
      )
    )
  )
