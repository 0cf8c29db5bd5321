/**
 * Rolls items out, as many at once as there is room for, each in a fiber of its own.
 *
 * A rollout that fails, dies or takes too long concerns its own item alone: the item is tried again after a pause, and
 * given up after `maxAttempts`; an outage of the inference servers does not count. Rollouts under way are never
 * cancelled by a shrinking limit; there is merely no new one. When rollout after rollout fails, new ones are started
 * one at a time and ever more slowly, so that an outage does not use items up.
 */
import { Cause, Clock, Effect, Exit, Latch, Pull, Result, type Scope, Stream } from "effect"
import { EnvironmentError, type RolledOut, Unscorable, type Work } from "../Environment.ts"
import { isDefinitionFault } from "../EnvironmentError.ts"
import { InferenceError } from "../inference/backend/Inference.ts"
import * as SequenceLimit from "../inference/SequenceLimit.ts"
import * as Trace from "../base/Trace.ts"
import * as Retry from "../base/Retry.ts"
import * as Reason from "../base/Reason.ts"

/** An item on its way through the pool. */
export interface Task {
  /** The item's place in the stream; items put back have that of the item they came from. */
  readonly index: number
  /** `index`, then one number per time it was put back. */
  readonly path: string
  readonly work: Work
  /** Attempts that failed before. */
  readonly failures: number
  /** Held already: an item that is tried again, or was put back. */
  readonly isRetry: boolean
}

export interface PoolOptions {
  /** The items from an index on. */
  readonly items: (cursor: number) => Stream.Stream<Work, EnvironmentError>
  readonly from: number
  /** Items that an earlier process had put back, held already; rolled out before those of the stream. */
  readonly requeued?: ReadonlyArray<Pick<Task, "index" | "path" | "work">>
  /** Finished or already delivered: not to be rolled out again. */
  readonly isDone: (index: number) => boolean
  /** Rollouts that may be started now; read again after every `wake`. */
  readonly room: (running: number) => number
  /** Seconds per item; 0 or less: no limit. */
  readonly timeoutSeconds: number
  /** Longest sequence, tokens, asked for every rollout; 0 or less: no limit is known. */
  readonly sequenceLimit: () => number
  readonly maxAttempts: number
  /** Failures in a row after which starts slow down. */
  readonly failuresBeforeSlowdown: number
  readonly onStart: (task: Task) => void
  /** The rollout is over; requeued items have been taken in before. */
  readonly onDone: (task: Task, rolledOut: RolledOut, millis: number) => Effect.Effect<void>
  readonly onUnscorable: (task: Task, error: Unscorable, millis: number) => Effect.Effect<void>
  /** An attempt failed; `isFinal` when the item is given up. */
  readonly onFailure: (task: Task, failure: Failure, millis: number, isFinal: boolean) => Effect.Effect<void>
}

export interface Failure {
  readonly reason: string
  readonly kind: "failed" | "died" | "timeout"
  readonly cause: Cause.Cause<unknown>
}

export interface Pool {
  readonly running: () => number
  /** Something changed that `room` depends on. */
  readonly wake: () => void
  /** Starts nothing more. */
  readonly stop: () => void
  /** Waits until nothing runs. */
  readonly drained: Effect.Effect<void>
  /** Runs until the items have ended and are rolled out; fails when they cannot be read. */
  readonly run: Effect.Effect<void, EnvironmentError>
}

const maxSlowdownMillis = 60_000
const sourceAttempts = 4

/** A pool whose fibers live in `scope`. */
export const make = (options: PoolOptions, scope: Scope.Scope): Pool => {
  const { isDone, items, maxAttempts, onDone, onFailure, onStart, onUnscorable, room, timeoutSeconds } = options
  const wakeUp = Latch.makeUnsafe(false)
  const demand = Latch.makeUnsafe(false)
  const idle = Latch.makeUnsafe(true)
  const backlog: Array<Task> = (options.requeued ?? []).map((one) => ({ ...one, failures: 0, isRetry: true }))
  let fresh: ReadonlyArray<Work> = []
  let freshAt = 0
  let freshIndex = options.from
  let running = 0
  let delayed = 0
  let failuresInARow = 0
  let isStopped = false
  let sourceHasEnded = false

  const wake = (): void => {
    wakeUp.openUnsafe()
  }

  const retryItems = (cause: Cause.Cause<EnvironmentError>, attempts: number): Effect.Effect<void, EnvironmentError> =>
    // What the stream throws is the environment's own mistake: asking again would only repeat it.
    attempts >= sourceAttempts || Cause.hasDies(cause) || isDefinitionFault(Cause.squash(cause))
      ? Effect.failCause(cause)
      : Effect.logWarning("items cannot be read; trying again", { reason: Reason.ofCause(cause), attempts }).pipe(
          Effect.andThen(Effect.flatMap(Retry.backoffMillis(attempts), Effect.sleep))
        )

  const source = Effect.gen(function* () {
    let attempts = 0
    for (;;) {
      const exit = yield* Effect.exit(
        Effect.scoped(
          Effect.gen(function* () {
            const pull = yield* Stream.toPull(items(freshIndex + (fresh.length - freshAt)))
            for (;;) {
              demand.closeUnsafe()
              if (freshAt < fresh.length) {
                yield* demand.await
                continue
              }
              fresh = yield* pull
              freshAt = 0
              attempts = 0
              wake()
            }
          })
        )
      )
      if (Exit.isSuccess(exit)) break
      const failure = Pull.filterDone(exit.cause)
      if (Result.isSuccess(failure)) break
      attempts++
      yield* retryItems(failure.failure, attempts)
    }
    sourceHasEnded = true
    wake()
  })

  const take = (): Task | undefined => {
    const waiting = backlog.shift()
    if (waiting !== undefined) return waiting
    while (freshAt < fresh.length) {
      const work = fresh[freshAt++]!
      const index = freshIndex++
      if (freshAt >= fresh.length) demand.openUnsafe()
      if (!isDone(index)) return { index, path: String(index), work, failures: 0, isRetry: false }
    }
    return undefined
  }

  const later = (task: Task): Effect.Effect<void> =>
    Effect.suspend(() => {
      delayed++
      return Effect.asVoid(
        Effect.forkIn(
          Effect.gen(function* () {
            yield* Effect.sleep(yield* Retry.backoffMillis(Math.max(1, task.failures)))
            delayed--
            backlog.push(task)
            wake()
          }),
          scope
        )
      )
    })

  const limited = ({ work }: Task) => {
    const rollOut = SequenceLimit.within(options.sequenceLimit())(work.rollOut)
    if (timeoutSeconds <= 0) return rollOut
    return Effect.timeout(rollOut, timeoutSeconds * 1000)
  }

  const rollOut = Effect.fnUntraced(function* (task: Task) {
    const started = yield* Clock.currentTimeMillis
    const exit = yield* Effect.exit(limited(task))
    const millis = (yield* Clock.currentTimeMillis) - started
    if (Exit.isSuccess(exit)) {
      failuresInARow = 0
      exit.value.requeued.forEach((work, position) => {
        const again = { index: task.index, path: `${task.path}.${position}`, work, failures: 0, isRetry: true }
        onStart(again)
        backlog.push(again)
      })
      yield* onDone(task, exit.value, millis)
      return
    }
    const error = Cause.squash(exit.cause)
    if (error instanceof Unscorable) {
      failuresInARow = 0
      yield* onUnscorable(task, error, millis)
      return
    }
    failuresInARow++
    // An outage of the inference servers is not the item's fault: it costs no attempt, only time.
    const failures = isOutage(error) ? task.failures : task.failures + 1
    const isFinal = failures >= maxAttempts
    const failure = toFailure(exit.cause, timeoutSeconds)
    yield* Effect.annotateCurrentSpan({ "item.failed": failure.kind, "item.reason": failure.reason })
    yield* onFailure({ ...task, failures }, failure, millis, isFinal)
    if (!isFinal) yield* later({ ...task, failures, isRetry: true })
  })

  const start = (task: Task): Effect.Effect<void> =>
    Effect.suspend(() => {
      running++
      idle.closeUnsafe()
      return Effect.asVoid(
        Effect.forkIn(
          rollOut(task).pipe(
            Effect.withSpan(Trace.roots.item, {
              root: true,
              attributes: {
                "item.label": task.work.label.slice(0, 200),
                "item.index": task.index,
                "item.failures": task.failures
              }
            }),
            // What rolling out leaves to its callbacks must not fail unseen; the item stays unfinished, and is rolled
            // out at the next start.
            Effect.catchDefect((defect) =>
              Effect.logError("the outcome of a rollout is lost", { item: task.work.label, defect })
            ),
            Effect.ensuring(
              Effect.sync(() => {
                running--
                if (running === 0) idle.openUnsafe()
                wake()
              })
            )
          ),
          scope
        )
      )
    })

  const slowdown = Effect.gen(function* () {
    const rounds = Math.floor(failuresInARow / options.failuresBeforeSlowdown)
    if (rounds === 0) return
    yield* Effect.logWarning("rollouts keep failing; starting one at a time", { failuresInARow })
    yield* Effect.sleep(Math.min(maxSlowdownMillis, 1000 * 2 ** (rounds - 1)))
  })

  const dispatch = Effect.gen(function* () {
    for (;;) {
      wakeUp.closeUnsafe()
      if (isStopped) return
      const isFailing = failuresInARow >= options.failuresBeforeSlowdown
      const free = isFailing ? Math.min(room(running), 1 - running) : room(running)
      if (free > 0) {
        if (isFailing) {
          yield* slowdown
          // It took a while: a limit may have shrunk, or the pool have been stopped.
          if (isStopped || room(running) <= 0) continue
        }
        const task = take()
        if (task !== undefined) {
          if (!task.isRetry) onStart(task)
          yield* start(task)
          continue
        }
        if (sourceHasEnded && running === 0 && delayed === 0 && backlog.length === 0) return
      }
      yield* wakeUp.await
    }
  })

  return {
    running: () => running,
    wake,
    stop: () => {
      isStopped = true
      wake()
    },
    drained: idle.await,
    // The end of the items is not the end of the run: their rollouts are.
    run: Effect.raceFirst(dispatch, Effect.andThen(source, Effect.never))
  }
}

const isOutage = (error: unknown): boolean =>
  error instanceof EnvironmentError && error.cause instanceof InferenceError && outages.has(error.cause.reason)

const outages: ReadonlySet<string> = new Set(["unreachable", "overloaded", "noServer"])

const toFailure = (cause: Cause.Cause<unknown>, timeoutSeconds: number): Failure => {
  const error = Cause.squash(cause)
  if (Cause.isTimeoutError(error))
    return { kind: "timeout", reason: `took longer than ${timeoutSeconds} seconds`, cause }
  const hasDied = !Cause.hasFails(cause) || isDefinitionFault(error)
  return { kind: hasDied ? "died" : "failed", reason: Reason.ofCause(cause), cause }
}
