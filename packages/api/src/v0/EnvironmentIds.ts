/** Ids of environments as the original takes them: indexes of a Python list, which may count from the end. */
import { Effect } from "effect"
import type { StoreError, TrajectoryStoreShape } from "../store/TrajectoryStore.ts"

/** The id meant by one that may count from the end. */
export const resolve = (store: TrajectoryStoreShape, run: string, id: number): Effect.Effect<number, StoreError> =>
  id >= 0 ? Effect.succeed(id) : Effect.map(store.environments(run), ({ length }) => id + length)
