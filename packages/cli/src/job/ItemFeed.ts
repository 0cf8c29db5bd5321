/**
 * Hands a job's items to its workers one at a time, each with its index; items finished by an earlier run are skipped.
 * An error of the items ends them, so that those taken before it can be finished.
 */
import type * as Cursor from "@atropos/core/rollout/state/Cursor"
import { Cause, Effect, Exit, Option, Pull, Semaphore, Stream } from "effect"

export interface NumberedItem<Item> {
  readonly index: number
  readonly item: Item
}

/** `next`: the next item, none at the end or after an error of `items`, which begin at the cursor's frontier. */
export const make = Effect.fn("ItemFeed.make")(function* <Item, E, R>(
  items: Stream.Stream<Item, E, R>,
  cursor: Pick<Cursor.Cursor, "frontier" | "isFinished">
) {
  const pull = yield* Stream.toPull(items)
  const pulling = yield* Semaphore.make(1)
  let chunk: ReadonlyArray<Item> = []
  let at = 0
  let nextIndex = cursor.frontier()
  let failure: Cause.Cause<unknown> | undefined
  const next: Effect.Effect<Option.Option<NumberedItem<Item>>, never, R> = Effect.gen(function* () {
    for (;;) {
      while (at < chunk.length) {
        const item = chunk[at++]!
        const index = nextIndex++
        if (!cursor.isFinished(index)) return Option.some({ item, index })
      }
      if (failure !== undefined) return Option.none()
      const read = yield* Effect.exit(Pull.catchDone(pull, () => Effect.succeed([])))
      if (Exit.isFailure(read)) {
        if (Cause.hasInterruptsOnly(read.cause)) return yield* Effect.interrupt
        failure = read.cause
        return Option.none()
      }
      if (read.value.length === 0) return Option.none()
      chunk = read.value
      at = 0
    }
  }).pipe(pulling.withPermits(1))
  return { next, failure: () => failure }
})
