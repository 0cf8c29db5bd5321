/** What a trainer announced of the run, as its environments and other trainers read it. */
import { Effect, Option } from "effect"
import type * as ServiceApi from "./ServiceApi.ts"
import type { Run } from "./TrajectoryApi.ts"
import type { TrajectoryError } from "./TrajectoryError.ts"

export interface RunReader {
  /** Batch size and token limit of the run; -1 each where no run is registered. */
  readonly runInfo: Effect.Effect<{ readonly batchSize: number; readonly maxTokenLength: number }, TrajectoryError>
  /** Group and project of Weights & Biases; null each where no run is registered. */
  readonly wandbInfo: Effect.Effect<{ readonly group: string | null; readonly project: string | null }, TrajectoryError>
}

/** Of a run that is read whole. */
export const ofRun = (run: Effect.Effect<Option.Option<Run>, TrajectoryError>): RunReader => {
  const registered = Effect.map(
    run,
    Option.filter((run) => run.registered)
  )
  return {
    runInfo: Effect.map(
      registered,
      Option.match({
        onNone: () => ({ batchSize: -1, maxTokenLength: -1 }),
        onSome: ({ batchSize, maxTokenLength }) => ({ batchSize, maxTokenLength })
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

/** Over the versioned endpoints. */
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
