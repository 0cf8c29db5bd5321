/**
 * Batches of the trajectory service, as a trainer needs them: claimed one at a time, in order, kept under lease until
 * they are settled, given back otherwise.
 *
 * Guarantees. A batch stays with its trainer until `settle` (it is in a durable checkpoint) or until the scope closes,
 * which gives back whatever was not settled (`Leases`). A killed trainer's successor gives back the batches of the
 * journal first, so that they come again at once, in the order of their steps. A batch that was claimed and not yet
 * written down when the process died comes when its lease runs out: until then the batches after it wait,
 * `leaseSeconds` at most. A service that cannot be reached is waited for; one that refuses ends the stream.
 */
import type { Batch, TrainerClient } from "@atropos/core"
import { Clock, Duration, Effect, type FileSystem, Option, type Path, type Scope, Stream } from "effect"
import type { TrainerError } from "../learn/TrainerError.ts"
import * as Leases from "./Leases.ts"
import * as ServiceWait from "./ServiceWait.ts"

export interface Options extends Leases.Options {
  readonly client: TrainerClient.TrainerClientShape
  /** Names this trainer to the service. */
  readonly owner: string
  /**
   * Step the service gives the next batch, where that is known: earlier ones are not expected, later ones wait for it.
   */
  readonly nextStep: Option.Option<number>
  readonly prefetch: number
  /** Whether nobody will submit any more: the stream then ends once no batch is left. Default: never. */
  readonly isOver?: () => boolean
}

export interface Deliveries extends Pick<Leases.Leases, "settle"> {
  readonly batches: Stream.Stream<Batch.Batch, TrainerError>
}

/** How long a claim waits for a batch at the service before it asks again: shorter where it may be over meanwhile. */
const claimWait = Duration.seconds(30)
const claimWaitOfEnding = Duration.seconds(1)

export const make = Effect.fn("Deliveries.make")(function* (
  options: Options
): Effect.fn.Return<Deliveries, TrainerError, FileSystem.FileSystem | Path.Path | Scope.Scope> {
  const leases = yield* Leases.make(options)
  const batches = Stream.unfold(undefined, yield* inOrder(options, leases))
  return {
    // One more is claimed before there is room for it.
    batches: options.prefetch === 0 ? batches : Stream.buffer(batches, { capacity: options.prefetch - 1 }),
    settle: leases.settle
  }
})

/** Claims the next batch, whichever it is; undefined when there will be none. */
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
    patience.logged((seconds) =>
      Effect.logInfo("waiting for a batch: environments send what it is made of (npx @atropos/cli serve --env …)", {
        seconds
      })
    )
  )
})

/** The next batch in the order of steps, and undefined at the end, as `Stream.unfold` takes them. */
const inOrder = Effect.fnUntraced(function* (options: Options, leases: Leases.Leases) {
  const claim = yield* claiming(options, leases)
  const lease = Duration.seconds(options.leaseSeconds)
  const pause = Duration.min(Duration.seconds(1), Duration.divideUnsafe(lease, 8))
  let nextStep = Option.getOrUndefined(options.nextStep)
  let isOrdered = true

  /** Whether a batch before this one is out, with a process that died before it could write it down. */
  const isEarly = ({ leaseToken, step }: Batch.Batch): boolean =>
    isOrdered && leaseToken !== "" && nextStep !== undefined && step > nextStep

  /** Gives a batch that is early back until an earlier one comes, or its lease has run out and none came. */
  const waitForEarlier = Effect.fnUntraced(function* (early: Batch.Batch) {
    const steps = { expected: nextStep, step: early.step }
    yield* Effect.logInfo("waiting for an earlier batch to be handed out again", steps)
    const deadline = (yield* Clock.currentTimeMillis) + Duration.toMillis(lease) + Duration.toMillis(pause) * 2
    let batch: Batch.Batch | undefined = early
    while (batch !== undefined && isEarly(batch)) {
      if ((yield* Clock.currentTimeMillis) > deadline) {
        isOrdered = false
        yield* Effect.logWarning(
          "an earlier batch did not come: another trainer is on this run, or its groups are lost. Going on without it",
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
