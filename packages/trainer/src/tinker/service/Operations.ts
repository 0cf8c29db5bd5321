/**
 * Runs a model's operations one at a time in the order of their numbers, from 1. The same number is the same operation.
 *
 * Requests wait for earlier numbers, and fail if one does not arrive in time. If too many wait, more must retry,
 * except the next one in order.
 */
import { Deferred, Effect, Queue, type Scope } from "effect"
import { busy, gone, type OperationFailed, type Refused, wrong } from "./Failures.ts"
import type { Futures, Outcome } from "./Futures.ts"

export interface Operation {
  /** Absent if the client does not number operations: then the next number. */
  readonly number: number | undefined
  /** Size of its body while it is queued. */
  readonly bytes: number
  readonly run: Effect.Effect<Outcome, OperationFailed>
  /** Called with the reason if it failed or was dropped before it ran. */
  readonly onFailure?: (reason: string) => void
}

export interface Operations {
  /** Queues an operation; returns the id of its future. */
  readonly submit: (operation: Operation) => Effect.Effect<string, Refused>
  readonly isBusy: () => boolean
}

/** Queue size over all models of the server. */
export interface QueueBudget {
  bytes: number
  readonly maxBytes: number
}

export interface Options {
  readonly model: string
  readonly futures: Futures
  readonly maxWaiting: number
  readonly gapSeconds: number
  readonly budget: QueueBudget
}

interface Waiting {
  readonly number: number
  /** Completes when its turn has come, or fails. */
  readonly turn: Deferred.Deferred<void, OperationFailed>
  readonly done: Deferred.Deferred<void>
}

export const make = Effect.fnUntraced(function* ({
  futures,
  gapSeconds,
  model,
  maxWaiting,
  budget
}: Options): Effect.fn.Return<Operations, never, Scope.Scope> {
  const scope = yield* Effect.scope
  let next = 1
  /** Operations that arrived before a smaller number. */
  const early = new Map<number, Waiting>()
  const turns = yield* Queue.unbounded<Waiting>()
  let unfinished = 0
  /** The number with a running timeout. */
  let watched = 0

  const idOf = (number: number) => `${model}:${number}`

  yield* Effect.forkScoped(
    Effect.forever(
      Effect.gen(function* () {
        const { done, turn } = yield* Queue.take(turns)
        yield* Deferred.succeed(turn, undefined)
        yield* Deferred.await(done)
      })
    )
  )

  const release = Effect.suspend(() => {
    const ready: Array<Waiting> = []
    for (let waiting = early.get(next); waiting !== undefined; waiting = early.get(next)) {
      early.delete(next++)
      ready.push(waiting)
    }
    return Queue.offerAll(turns, ready)
  })

  /** Fails waiting operations if a number does not arrive in time. */
  const watch = Effect.fnUntraced(function* (missing: number) {
    yield* Effect.sleep(`${gapSeconds} seconds`)
    if (next !== missing || early.size === 0) return
    const failure = wrong(
      `operation ${missing} of ${model} did not arrive within ${gapSeconds} s, and those after it depend on it`
    )
    const operations = [...early.values()]
    early.clear()
    next = Math.max(...operations.map(({ number }) => number)) + 1
    for (const { turn } of operations) yield* Deferred.fail(turn, failure)
  })

  const refusal = (number: number, bytes: number): Refused | undefined => {
    if (number < next) {
      return gone(`operation ${number} of ${model} has ended, and its result is gone; the next one is ${next}`)
    }
    if (number === next) return undefined
    if (unfinished >= maxWaiting) return busy(`${unfinished} operations of ${model} are waiting: retry later`)
    return budget.bytes + bytes > budget.maxBytes ? busy("too many operations are waiting: retry later") : undefined
  }

  return {
    isBusy: () => unfinished > 0,
    submit: ({ bytes, number: input, onFailure = () => {}, run }) =>
      Effect.gen(function* () {
        const number = input ?? next + early.size
        const id = idOf(number)
        if (futures.has(id)) return id
        const refused = refusal(number, bytes)
        if (refused !== undefined) return yield* refused
        const waiting: Waiting = {
          number,
          turn: Deferred.makeUnsafe<void, OperationFailed>(),
          done: Deferred.makeUnsafe<void>()
        }
        unfinished++
        budget.bytes += bytes
        early.set(number, waiting)
        yield* futures.promise(
          id,
          model,
          Effect.andThen(Deferred.await(waiting.turn), run).pipe(
            Effect.tapError(({ message }) => Effect.sync(() => onFailure(message))),
            Effect.ensuring(
              Effect.suspend(() => {
                unfinished--
                budget.bytes -= bytes
                return Deferred.succeed(waiting.done, undefined)
              })
            )
          )
        )
        yield* release
        if (early.size > 0 && watched !== next) {
          watched = next
          yield* Effect.forkIn(watch(next), scope)
        }
        return id
      })
  }
})
