/**
 * Where large payloads lie, if not in the database: a store of objects by name. None, unless one is provided.
 *
 * An object that was put is there for everybody when `put` succeeds. A name always stands for the same bytes, so that
 * putting it again changes nothing.
 */
import { Context, type Effect } from "effect"
import type { StoreError } from "./TrajectoryStore.ts"

export interface ObjectStoreShape {
  /** Where it is, for people: never with a key. */
  readonly location: string
  /** Payloads of so many stored bytes and more lie there. */
  readonly threshold: number
  readonly put: (name: string, bytes: Uint8Array) => Effect.Effect<void, StoreError>
  /** Fails for good (not transient) where there is none of that name. */
  readonly get: (name: string) => Effect.Effect<Uint8Array, StoreError>
  /** Names that begin so, in order, from the one after `after` on: some hundreds; none where there are no more. */
  readonly list: (prefix: string, after: string | undefined) => Effect.Effect<ReadonlyArray<string>, StoreError>
  /** Succeeds where it is not there. */
  readonly remove: (name: string) => Effect.Effect<void, StoreError>
}

export const ObjectStore = Context.Reference<ObjectStoreShape | undefined>("@atropos/api/store/ObjectStore", {
  defaultValue: () => undefined
})
