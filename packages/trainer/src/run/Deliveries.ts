/**
 * Batches of the trajectory service, as a trainer needs them: claimed one at a time, in order, kept under lease until
 * they are settled, given back otherwise.
 *
 * Guarantees. A lease is renewed every third of its time, so a batch stays with its trainer until `settle` (it is in a
 * durable checkpoint) or until the scope closes, which gives back whatever was not settled. A killed trainer's
 * successor gives back the batches of the journal first, so that they come again at once, in the order of their steps.
 * A batch that was claimed and not yet written down when the process died comes when its lease runs out: until then the
 * batches after it wait, `leaseSeconds` at most. An acknowledgement that cannot be delivered is tried again with every
 * renewal. A service that cannot be reached is waited for; one that refuses ends the stream.
 */
import { type Batch, type TrainerClient, TrajectoryError } from "@atropos/core"
import * as Waiting from "@atropos/core/base/Waiting"
import { Clock, Duration, Effect, type FileSystem, Option, type Path, Schedule, type Scope, Stream } from "effect"
import * as LeaseJournal from "../checkpoint/LeaseJournal.ts"
import { TrainerError } from "../learn/TrainerError.ts"

export interface Options {
  readonly client: TrainerClient.TrainerClientShape
  /** Names this trainer to the service. */
  readonly owner: string
  readonly leaseSeconds: number
  /** Folder of the journal. */
  readonly folder: string
  /**
   * Step the service gives the next batch, where that is known: earlier ones are not expected, later ones wait for it.
   */
  readonly nextStep: Option.Option<number>
  /** Whether a checkpoint holds this batch: then a predecessor's lease on it ends in an acknowledgement. */
  readonly isSettled: (batch: { readonly id: string; readonly step: number }) => boolean
  readonly prefetch: number
  /** Whether nobody will submit any more: the stream then ends once no batch is left. Default: never. */
  readonly isOver?: () => boolean
}

/** What acknowledges a batch. */
export type Handle = Pick<Batch.Batch, "id" | "leaseToken" | "step">

export interface Deliveries {
  readonly batches: Stream.Stream<Batch.Batch, TrainerError>
  /** These need not be handed out again. Never fails: what cannot be said now is said later. */
  readonly settle: (batches: ReadonlyArray<Handle>) => Effect.Effect<void>
}

/** Tries again as long as the service cannot be reached, and says after a while that it waits, for what and why. */
export const waiting = <A>(
  effect: Effect.Effect<A, TrajectoryError.TrajectoryError>
): Effect.Effect<A, TrajectoryError.TrajectoryError> =>
  Effect.suspend(() => {
    let reason = ""
    return effect.pipe(
      Effect.tapError(({ message }) => Effect.sync(() => void (reason = message))),
      Effect.retry(TrajectoryError.reconnecting),
      Waiting.telling((seconds) => (reason === "" ? Effect.void : noService(reason, seconds)))
    )
  })

const noService = (reason: string, seconds: number) =>
  Effect.logWarning("waiting for the trajectory service (npx @atropos/cli api starts one)", { seconds, reason })

const refused = (cause: { readonly message: string }) =>
  new TrainerError({ reason: "service", message: `the trajectory service: ${cause.message}`, cause })

/** How long a claim waits for a batch at the service before it asks again: shorter where it may be over meanwhile. */
const claimWait = Duration.seconds(30)
const claimWaitOfEnding = Duration.seconds(1)

export const make = Effect.fn("Deliveries.make")(function* (
  options: Options
): Effect.fn.Return<Deliveries, TrainerError, FileSystem.FileSystem | Path.Path | Scope.Scope> {
  const { client, folder } = options
  const files = yield* Effect.context<FileSystem.FileSystem | Path.Path>()
  const lease = Duration.seconds(options.leaseSeconds)
  /** By batch id: with us, not settled. */
  const held = new Map<string, Handle>()
  /** By batch id: settled, and the service does not know yet. */
  const unsaid = new Map<string, Handle>()

  const previous = yield* Effect.mapError(
    LeaseJournal.read(folder),
    (cause) => new TrainerError({ reason: "checkpoint", message: cause.message, cause })
  )
  const firstStep = Option.match(previous, { onNone: () => null, onSome: (journal) => journal.firstStep })
  const writeJournal = Effect.suspend(() =>
    LeaseJournal.write(folder, {
      firstStep,
      // An original service has no leases.
      leases: [...held.values(), ...unsaid.values()].filter(({ leaseToken }) => leaseToken !== "")
    })
  ).pipe(
    Effect.catch(({ message }) => Effect.logWarning("journal of leases not written", { message })),
    Effect.provide(files)
  )

  const giveBack = (batch: Handle) =>
    client.nack(batch).pipe(
      Effect.retry(TrajectoryError.reconnecting),
      Effect.catch(({ message, reason }) =>
        reason === "leaseLost"
          ? Effect.void
          : Effect.logWarning("batch not given back", { batch: batch.id, step: batch.step, message })
      )
    )

  /** Tells the service of a settled batch; keeps it for later where the service does not answer. */
  const say = (batch: Handle) =>
    client.ack(batch).pipe(
      Effect.andThen(Effect.sync(() => void unsaid.delete(batch.id))),
      Effect.catch(({ isPassing, message }) =>
        isPassing
          ? Effect.logDebug("acknowledgement put off", { batch: batch.id, message })
          : Effect.suspend(() => {
              unsaid.delete(batch.id)
              // Should it come again, it is known from the checkpoint.
              return Effect.logWarning("batch could not be acknowledged", {
                batch: batch.id,
                step: batch.step,
                message
              })
            })
      )
    )

  const sayAll = Effect.suspend(() => Effect.forEach([...unsaid.values()], say, { discard: true }))

  const extend = (batch: Handle) =>
    client.extend(batch, lease).pipe(
      Effect.catch(({ message, reason }) => {
        if (reason === "leaseLost" && held.get(batch.id)?.leaseToken === batch.leaseToken) held.delete(batch.id)
        return Effect.logWarning("lease not renewed", { batch: batch.id, step: batch.step, reason, message })
      })
    )

  const renewal = Effect.suspend(() =>
    Effect.andThen(sayAll, Effect.forEach([...held.values()], extend, { discard: true, concurrency: 4 }))
  ).pipe(Effect.repeat(Schedule.spaced(Duration.divideUnsafe(lease, 3))))

  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      yield* Effect.timeoutOption(sayAll, "5 seconds")
      yield* Effect.forEach([...held.values()], giveBack, { discard: true, concurrency: 4 }).pipe(
        Effect.timeoutOption("5 seconds")
      )
      // What was said needs no successor; what was not is for the successor to say again.
      held.clear()
      yield* writeJournal
    })
  )
  yield* Effect.forkScoped(renewal)
  // Those of a predecessor that died.
  for (const lease of Option.match(previous, { onNone: () => [], onSome: ({ leases }) => leases })) {
    if (options.isSettled(lease)) unsaid.set(lease.id, lease)
    else yield* giveBack(lease)
  }
  yield* sayAll
  yield* writeJournal

  /** Why the service did not answer the last time that it was asked for a batch. */
  let unreachable = ""
  const claim = (wait: Duration.Duration) =>
    Effect.uninterruptibleMask((restore) =>
      restore(client.claim({ owner: options.owner, wait, lease })).pipe(
        Effect.tap(
          Option.match({
            onNone: () => Effect.void,
            onSome: (batch) =>
              Effect.suspend(() => {
                const { id, leaseToken, step } = batch
                held.set(id, { id, leaseToken, step })
                return writeJournal
              })
          })
        )
      )
    ).pipe(
      Effect.tap(() => Effect.sync(() => void (unreachable = ""))),
      Effect.tapError(({ message }) => Effect.sync(() => void (unreachable = message))),
      Effect.retry(TrajectoryError.reconnecting),
      Effect.mapError(refused)
    )

  const { isOver } = options
  const sayWaiting = (seconds: number) =>
    unreachable === ""
      ? Effect.logInfo("waiting for a batch: environments send what it is made of (npx @atropos/cli serve --env …)", {
          seconds
        })
      : noService(unreachable, seconds)
  /** The next batch; undefined when there will be none. */
  const claimOne = Effect.gen(function* () {
    for (;;) {
      const isLast = isOver?.() ?? false
      const wait = isLast ? Duration.zero : isOver === undefined ? claimWait : claimWaitOfEnding
      const claimed = yield* claim(wait)
      if (isLast || Option.isSome(claimed)) return Option.getOrUndefined(claimed)
    }
  }).pipe(Waiting.telling(sayWaiting))

  let nextStep = Option.getOrUndefined(options.nextStep)
  let ordered = true
  const pause = Duration.min(Duration.seconds(1), Duration.divideUnsafe(lease, 8))

  /** Whether a batch before this one is out, with a process that died before it could write it down. */
  const isEarly = ({ leaseToken, step }: Batch.Batch): boolean =>
    ordered && leaseToken !== "" && nextStep !== undefined && step > nextStep

  /** The next batch in order. */
  const take = Effect.gen(function* () {
    let batch = yield* claimOne
    if (batch !== undefined && isEarly(batch)) {
      yield* Effect.logInfo("waiting for an earlier batch to be handed out again", {
        expected: nextStep,
        step: batch.step
      })
      const deadline = (yield* Clock.currentTimeMillis) + Duration.toMillis(lease) + Duration.toMillis(pause) * 2
      while (batch !== undefined && isEarly(batch)) {
        if ((yield* Clock.currentTimeMillis) > deadline) {
          ordered = false
          yield* Effect.logWarning("an earlier batch did not come; is another trainer on this run?", {
            expected: nextStep,
            step: batch.step
          })
          break
        }
        held.delete(batch.id)
        yield* giveBack(batch)
        yield* Effect.sleep(pause)
        batch = yield* claimOne
      }
    }
    if (batch === undefined) return undefined
    nextStep = Math.max(nextStep ?? 0, batch.step + 1)
    return [{ ...batch, claimedAt: yield* Clock.currentTimeMillis }, undefined] as const
  })

  const taken = Stream.unfold(undefined, () => take)
  return {
    // One more is claimed before there is room for it.
    batches: options.prefetch === 0 ? taken : Stream.buffer(taken, { capacity: options.prefetch - 1 }),
    settle: (batches) =>
      Effect.suspend(() => {
        for (const batch of batches) {
          // Redelivered in between, it has a new token.
          unsaid.set(batch.id, held.get(batch.id) ?? batch)
          held.delete(batch.id)
        }
        return Effect.andThen(sayAll, writeJournal)
      })
  }
})
