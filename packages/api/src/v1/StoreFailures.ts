/** Maps failures of the store to errors of the versioned endpoints. */
import { Effect, Option } from "effect"
import { TrajectoryApiError as ApiError } from "@atropos/core"
import * as StoreFaults from "../store/StoreFaults.ts"
import * as Store from "../store/TrajectoryStore.ts"

const StoreError = (error: Store.StoreError): Effect.Effect<never, ApiError.Unavailable | ApiError.Internal> =>
  Effect.andThen(
    StoreFaults.report(error),
    Effect.fail(
      error.isTransient
        ? new ApiError.Unavailable({ message: error.message, retryAfterSeconds: 1 })
        : new ApiError.Internal({ message: error.message })
    )
  )

const UnknownRun = ({ run }: Store.UnknownRun) =>
  Effect.fail(new ApiError.NotFound({ message: `run ${run} is not registered: register it with POST /v1/runs` }))

const UnknownEnvironment = ({ envId, run }: Store.UnknownEnvironment) =>
  Effect.fail(new ApiError.NotFound({ message: `run ${run} has no environment ${envId}` }))

/** Handlers for `Effect.catchTags`, by the failures of a store method that are not returned as they are. */
export const plain = { StoreError }
export const ofRun = { StoreError, UnknownRun }
export const ofReading = {
  StoreError,
  UnknownRun: ({ run }: Store.UnknownRun) => Effect.fail(new ApiError.NotFound({ message: `no run named ${run}` }))
}
export const ofEnvironment = { StoreError, UnknownEnvironment }

const unknownRun = (name: string) => UnknownRun(new Store.UnknownRun({ run: name }))

/** The run of this name, or 404. */
export const knownRun = (
  store: Store.TrajectoryStoreShape,
  name: string
): Effect.Effect<Store.Run, ApiError.Unavailable | ApiError.Internal | ApiError.NotFound> =>
  store
    .run(name)
    .pipe(
      Effect.catchTags(plain),
      Effect.flatMap(Option.match({ onNone: () => unknownRun(name), onSome: Effect.succeed }))
    )

/** Fails with 404 if no run has this name. */
export const mustBeKnown = (
  store: Store.TrajectoryStoreShape,
  name: string
): Effect.Effect<void, ApiError.Unavailable | ApiError.Internal | ApiError.NotFound> =>
  store.hasRun(name).pipe(
    Effect.catchTags(plain),
    Effect.flatMap((isKnown) => (isKnown ? Effect.void : unknownRun(name)))
  )
