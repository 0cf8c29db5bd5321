/**
 * Claims with long polling: answers as soon as there is a batch, or without one after `wait` or when the server closes.
 * Woken by changes of the store, and every five seconds for expired leases and notifications lost with a connection. If
 * the claimer disconnects during its claim, the batch is requeued.
 */
import { Clock, Duration, Effect, Option, Queue, Stream } from "effect"
import { Closing } from "../http/Closing.ts"
import type { ClaimedBatch, StoreError, TrajectoryStoreShape, UnknownRun } from "../store/TrajectoryStore.ts"

const lookAgainMillis = 5000

/** Claims the oldest free batch of the run, waiting up to `wait` for one. */
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
        // A pending interruption takes effect here, where the batch can still be requeued.
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
    // Subscribes before the next check, so that no change is missed in between.
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
