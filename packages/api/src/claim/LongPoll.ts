/**
 * A claim that waits: the answer comes as soon as there is a batch, or after `wait` without one, or when the server
 * closes.
 *
 * The store's changes wake it. Two things make no change: a lease that runs out, and a notification lost with a
 * database connection; for these alone it looks again every five seconds. A claimer who goes away while its claim is in
 * the database gives the batch back.
 */
import { Clock, Duration, Effect, Option, Queue, Stream } from "effect"
import { Closing } from "../http/Closing.ts"
import type { ClaimedBatch, StoreError, TrajectoryStoreShape, UnknownRun } from "../store/TrajectoryStore.ts"

const lookAgainMillis = 5000

/** The oldest free batch of the run, waiting up to `wait` for one. */
export const claim = (
  store: TrajectoryStoreShape,
  run: string,
  options: { readonly owner: string; readonly lease: Duration.Input; readonly wait: Duration.Input }
): Effect.Effect<Option.Option<ClaimedBatch>, StoreError | UnknownRun> => {
  const waitMillis = Duration.toMillis(options.wait)
  const once = Effect.uninterruptibleMask((restore) =>
    Effect.tap(store.claim(run, options), (claimed) =>
      Option.match(claimed, {
        onNone: () => Effect.void,
        // An interruption that came meanwhile takes effect here, where somebody can still give the batch back.
        onSome: (batch) =>
          Effect.onInterrupt(restore(Effect.yieldNow), () => Effect.ignore(store.nack(batch), { log: true }))
      })
    )
  )
  const waiting = Effect.gen(function* () {
    const deadline = (yield* Clock.currentTimeMillis) + waitMillis
    let isClosing = false
    const closing = Effect.map(yield* Closing, () => {
      isClosing = true
    })
    const changes = yield* Queue.sliding<void>(1)
    // Listening starts before the next look, so that nothing falls between the two.
    yield* Effect.forkScoped(
      Stream.runForEach(store.changes(run), () => Queue.offer(changes, undefined)),
      { startImmediately: true }
    )
    while (true) {
      const claimed = yield* once
      const left = deadline - (yield* Clock.currentTimeMillis)
      if (Option.isSome(claimed) || left <= 0 || isClosing) return claimed
      yield* Effect.timeoutOption(Effect.raceFirst(Queue.take(changes), closing), Math.min(left, lookAgainMillis))
    }
  })
  return waitMillis <= 0 ? once : Effect.filterOrElse(once, Option.isSome, () => Effect.scoped(waiting))
}
