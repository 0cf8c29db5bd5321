/** Resolves environment ids as the original does: indices of a Python list, which may be negative. */
import { Effect } from "effect"
import type { StoreError, TrajectoryStoreShape } from "../store/TrajectoryStore.ts"

export const resolve = (store: TrajectoryStoreShape, run: string, id: number): Effect.Effect<number, StoreError> =>
  id >= 0 ? Effect.succeed(id) : Effect.map(store.environments(run), ({ length }) => id + length)
