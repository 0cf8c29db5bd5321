/**
 * Reads an environment's items one chunk ahead: more are requested only once the last of a chunk has been taken.
 *
 * A stream that fails is reopened at its position after a pause, a few times in a row; defects are not retried.
 */
import { Cause, Effect, Exit, Latch, Pull, Result, Stream } from "effect"
import type { EnvironmentError, Work } from "../../Environment.ts"
import { isDefinitionFault } from "../../definition/EnvironmentError.ts"
import * as Retry from "../../base/Retry.ts"
import * as Reason from "../../base/Reason.ts"

export interface ItemFeed {
  /** The next unfinished item; undefined until one is read. */
  readonly take: () => { readonly index: number; readonly work: Work } | undefined
  /** The stream has ended; read items may remain. */
  readonly hasEnded: () => boolean
  /** Reads until the stream ends; fails if it cannot be read. */
  readonly run: Effect.Effect<void, EnvironmentError>
}

export interface Options {
  readonly items: (cursor: number) => Stream.Stream<Work, EnvironmentError>
  readonly from: number
  /** Finished or already delivered: not rolled out again. */
  readonly isDone: (index: number) => boolean
  /** Items were read, or the stream ended. */
  readonly onChange: () => void
}

const maxAttempts = 4

export const make = ({ from, isDone, items, onChange }: Options): ItemFeed => {
  const demand = Latch.makeUnsafe(false)
  let chunk: ReadonlyArray<Work> = []
  /** Index of the next item within the chunk. */
  let at = 0
  let index = from
  let attempts = 0
  let hasEnded = false

  const read = Effect.scoped(
    Effect.gen(function* () {
      const pull = yield* Stream.toPull(items(index + (chunk.length - at)))
      for (;;) {
        demand.closeUnsafe()
        if (at < chunk.length) {
          yield* demand.await
          continue
        }
        chunk = yield* pull
        at = 0
        attempts = 0
        onChange()
      }
    })
  )

  const run = Effect.gen(function* () {
    for (;;) {
      const exit = yield* Effect.exit(read)
      if (Exit.isSuccess(exit)) break
      const failure = Pull.filterDone(exit.cause)
      if (Result.isSuccess(failure)) break
      attempts++
      yield* pauseAfter(failure.failure, attempts)
    }
    hasEnded = true
    onChange()
  })

  return {
    take: () => {
      while (at < chunk.length) {
        const work = chunk[at++]!
        const place = index++
        if (at >= chunk.length) demand.openUnsafe()
        if (!isDone(place)) return { index: place, work }
      }
      return undefined
    },
    hasEnded: () => hasEnded,
    run
  }
}

const pauseAfter = (cause: Cause.Cause<EnvironmentError>, attempts: number): Effect.Effect<void, EnvironmentError> =>
  // A defect of the stream is the environment's mistake: a retry would only repeat it.
  attempts >= maxAttempts || Cause.hasDies(cause) || isDefinitionFault(Cause.squash(cause))
    ? Effect.failCause(cause)
    : Effect.logWarning("items could not be read; retrying", { reason: Reason.ofCause(cause), attempts }).pipe(
        Effect.andThen(Effect.flatMap(Retry.backoffMillis(attempts), Effect.sleep))
      )
