/** The items of an environment, from any of them on. */
import type { Effect, Stream } from "effect"

/** Items from `cursor` on, in an order that depends on settings (and `state`) alone; cursor = items already taken. */
export interface ItemStream<Item, E, R> {
  (cursor: number): Stream.Stream<Item, E, R>
  /** Of the rows that a cursor counts: one saved with another digest starts over. `Dataset.shuffle` has it. */
  readonly digest?: Effect.Effect<string>
}
