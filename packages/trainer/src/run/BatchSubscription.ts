/**
 * Streams a trainer's batches from the trajectory service in step order, leased until settled.
 *
 * A batch keeps its lease until `settle` or until the scope closes, which releases it (`Leases`). After a kill, the
 * next trainer first releases the batches in the journal, so that they are redelivered immediately. A batch that was
 * claimed but not in the journal is redelivered when its lease expires; later batches wait for it, for at most
 * `leaseSeconds`. Retries while the service is unreachable; fails if it rejects a request.
 */
import type { Batch, TrainerClient } from "@atropos/core"
import { Clock, Duration, Effect, type FileSystem, Option, type Path, type Scope, Stream } from "effect"
import type { TrainerError } from "../learn/TrainerError.ts"
import * as Leases from "./Leases.ts"
import * as ServiceWait from "./ServiceWait.ts"

export interface Options extends Leases.Options {
  readonly client: TrainerClient.TrainerClientShape
  /** Name of this trainer at the service. */
  readonly owner: string
  /** Step that the service gives the next batch, if known. Earlier steps are not expected; later ones wait for it. */
  readonly nextStep: Option.Option<number>
  readonly prefetch: number
  /** True once no more groups will be submitted: the stream then ends when no batch is left. Default: never. */
  readonly isOver?: () => boolean
}

export interface BatchSubscription extends Pick<Leases.Leases, "settle"> {
  readonly batches: Stream.Stream<Batch.Batch, TrainerError>
}

/** Max wait of one claim request for a batch; shorter if `isOver` may become true in the meantime. */
const claimWait = Duration.seconds(30)
const claimWaitOfEnding = Duration.seconds(1)
/** Batches are rolled out for seconds: a shorter wait is not worth a line. */
const usualWaitMillis = 3_000

export const make = Effect.fn("BatchSubscription.make")(function* (
  options: Options
): Effect.fn.Return<BatchSubscription, TrainerError, FileSystem.FileSystem | Path.Path | Scope.Scope> {
  const leases = yield* Leases.make(options)
  const batches = Stream.unfold(undefined, yield* inOrder(options, leases))
  return {
    // The stream claims one more batch while the buffer is full.
    batches: options.prefetch === 0 ? batches : Stream.buffer(batches, { capacity: options.prefetch - 1 }),
    settle: leases.settle
  }
})

/** Claims the next batch in any order; undefined when the stream is over. */
const claiming = Effect.fnUntraced(function* ({ client, isOver, leaseSeconds, owner }: Options, leases: Leases.Leases) {
  const patience = yield* ServiceWait.make
  const lease = Duration.seconds(leaseSeconds)
  const claim = (wait: Duration.Duration) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.tap(
        restore(client.claim({ owner, wait, lease })),
        Option.match({ onNone: () => Effect.void, onSome: leases.hold })
      )
    ).pipe(patience.request)
  return Effect.gen(function* () {
    for (;;) {
      const isLast = isOver?.() ?? false
      const wait = isLast ? Duration.zero : isOver === undefined ? claimWait : claimWaitOfEnding
      const claimed = yield* claim(wait)
      if (isLast || Option.isSome(claimed)) return Option.getOrUndefined(claimed)
    }
  }).pipe(
    patience.logged(
      (seconds) =>
        Effect.logInfo("waiting for a batch; if no environment is running, start one: npx @atropos/cli serve --env …", {
          seconds
        }),
      usualWaitMillis
    )
  )
})

/** Yields the next batch in step order, and undefined at the end. */
const inOrder = Effect.fnUntraced(function* (options: Options, leases: Leases.Leases) {
  const claim = yield* claiming(options, leases)
  const lease = Duration.seconds(options.leaseSeconds)
  const pause = Duration.min(Duration.seconds(1), Duration.divideUnsafe(lease, 8))
  let nextStep = Option.getOrUndefined(options.nextStep)
  let isOrdered = true

  /** True if an earlier batch is still leased to a process that died before it wrote its journal. */
  const isEarly = ({ leaseToken, step }: Batch.Batch): boolean =>
    isOrdered && leaseToken !== "" && nextStep !== undefined && step > nextStep

  /** Releases an early batch until an earlier one arrives or that one's lease has expired. */
  const waitForEarlier = Effect.fnUntraced(function* (early: Batch.Batch) {
    const steps = { expected: nextStep, step: early.step }
    yield* Effect.logInfo("waiting for redelivery of an earlier batch", steps)
    const deadline = (yield* Clock.currentTimeMillis) + Duration.toMillis(lease) + Duration.toMillis(pause) * 2
    let batch: Batch.Batch | undefined = early
    while (batch !== undefined && isEarly(batch)) {
      if ((yield* Clock.currentTimeMillis) > deadline) {
        isOrdered = false
        yield* Effect.logWarning(
          "earlier batch missing: another trainer uses this run, or its groups are lost; continuing without it",
          {
            expected: nextStep,
            step: batch.step
          }
        )
        return batch
      }
      yield* leases.giveBack(batch)
      yield* Effect.sleep(pause)
      batch = yield* claim
    }
    return batch
  })

  return () =>
    Effect.gen(function* () {
      const first = yield* claim
      const batch = first !== undefined && isEarly(first) ? yield* waitForEarlier(first) : first
      if (batch === undefined) return undefined
      nextStep = Math.max(nextStep ?? 0, batch.step + 1)
      return [{ ...batch, claimedAt: yield* Clock.currentTimeMillis }, undefined] as const
    })
})
