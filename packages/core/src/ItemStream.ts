/** Streams the items of an environment from any position. */
import type { Effect, Stream } from "effect"

/**
 * Items from `cursor` on, in an order that depends on settings (and `state`) alone; the cursor is the number of items
 * already taken.
 */
export interface ItemStream<Item, E, R> {
  (cursor: number): Stream.Stream<Item, E, R>
  /**
   * Digest of the rows that a cursor counts: a cursor saved with another digest starts over. `Dataset.shuffle` provides
   * it.
   */
  readonly digest?: Effect.Effect<string>
}
