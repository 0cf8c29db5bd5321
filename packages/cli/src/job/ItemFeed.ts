/**
 * Hands a job's items to its workers one at a time, each with its index; items finished by an earlier run are skipped.
 */
import type * as Cursor from "@atropos/core/rollout/state/Cursor"
import { Effect, Option, Pull, Semaphore, Stream } from "effect"

export interface NumberedItem<Item> {
  readonly index: number
  readonly item: Item
}

/** The next item, none at the end; `items` begin at the cursor's frontier. */
export const make = Effect.fn("ItemFeed.make")(function* <Item, E, R>(
  items: Stream.Stream<Item, E, R>,
  cursor: Pick<Cursor.Cursor, "frontier" | "isFinished">
) {
  const pull = yield* Stream.toPull(items)
  const pulling = yield* Semaphore.make(1)
  let chunk: ReadonlyArray<Item> = []
  let at = 0
  let nextIndex = cursor.frontier()
  const next: Effect.Effect<Option.Option<NumberedItem<Item>>, E, R> = Effect.gen(function* () {
    for (;;) {
      while (at < chunk.length) {
        const item = chunk[at++]!
        const index = nextIndex++
        if (!cursor.isFinished(index)) return Option.some({ item, index })
      }
      const more = yield* Pull.catchDone(pull, () => Effect.succeed([]))
      if (more.length === 0) return Option.none()
      chunk = more
      at = 0
    }
  }).pipe(pulling.withPermits(1))
  return next
})
