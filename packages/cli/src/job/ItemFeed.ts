/**
 * Hands a job's items to its workers one at a time, each with its index; items finished by an earlier run are skipped.
 * An error of the items ends them, so that those taken before it can be finished.
 */
import type * as Cursor from "@atropos/core/rollout/state/Cursor"
import { Cause, Effect, Option, Pull, Semaphore, Stream } from "effect"

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
  let failure: Cause.Cause<E> | undefined
  const more = Effect.suspend(() =>
    failure === undefined ? Pull.catchDone(pull, () => Effect.succeed([])) : Effect.succeed([])
  ).pipe(
    Effect.catchCauseIf(
      (cause) => !Cause.hasInterruptsOnly(cause),
      (cause) => {
        failure = cause
        return Effect.succeed([])
      }
    )
  )
  const next: Effect.Effect<Option.Option<NumberedItem<Item>>, never, R> = Effect.gen(function* () {
    for (;;) {
      while (at < chunk.length) {
        const item = chunk[at++]!
        const index = nextIndex++
        if (!cursor.isFinished(index)) return Option.some({ item, index })
      }
      const read = yield* more
      if (read.length === 0) return Option.none()
      chunk = read
      at = 0
    }
  }).pipe(pulling.withPermits(1))
  return { next, failure: () => failure }
})
