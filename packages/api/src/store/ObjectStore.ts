/**
 * Defines a store of named objects for large payloads. None unless provided.
 *
 * A successful `put` is immediately visible to all. A name always has the same content, so a repeated `put` changes
 * nothing.
 */
import { Context, type Effect } from "effect"
import type { StoreError } from "./TrajectoryStore.ts"

export interface ObjectStoreShape {
  /** Display location, never with a key. */
  readonly location: string
  /** Min stored bytes of a payload to be stored here. */
  readonly threshold: number
  readonly put: (name: string, bytes: Uint8Array) => Effect.Effect<void, StoreError>
  /** Fails permanently (not transient) if the name does not exist. */
  readonly get: (name: string) => Effect.Effect<Uint8Array, StoreError>
  /** Names with this prefix in order, starting after `after`: up to a few hundred; empty at the end. */
  readonly list: (prefix: string, after: string | undefined) => Effect.Effect<ReadonlyArray<string>, StoreError>
  /** Also succeeds if the object does not exist. */
  readonly remove: (name: string) => Effect.Effect<void, StoreError>
}

export const ObjectStore = Context.Reference<ObjectStoreShape | undefined>("@atropos/api/store/ObjectStore", {
  defaultValue: () => undefined
})
