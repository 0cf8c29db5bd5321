/**
 * Rolls items out, as many at once as there is room for, each in a fiber of its own.
 *
 * A rollout that fails, dies or takes too long concerns its own item alone: the item is tried again after a pause, and
 * given up after `maxAttempts`; an outage of the inference servers does not count. Rollouts under way are never
 * cancelled by a shrinking limit; there is merely no new one. When rollout after rollout fails, new ones are started
 * one at a time and ever more slowly, so that an outage does not use items up. An environment that reports itself as
 * unusable ends the pool.
 */
import { Cause, Clock, Deferred, Effect, Exit, Latch, type Scope } from "effect"
import { type EnvironmentError, isUnusable, type RolledOut, Unscorable } from "../../Environment.ts"
import * as SequenceLimit from "../../inference/SequenceLimit.ts"
import * as TrainingProgress from "../../TrainingProgress.ts"
import * as Trace from "../../base/Trace.ts"
import * as Backlog from "./Backlog.ts"
import * as FailureStreak from "./FailureStreak.ts"
import * as ItemFeed from "./ItemFeed.ts"
import { type Failure, failureOf, isOutage, type Task } from "./Task.ts"

/** What becomes of tasks. */
export interface Outcomes {
  readonly onStart: (task: Task) => void
  /** The rollout is over; requeued items have been taken in before. */
  readonly onDone: (task: Task, rolledOut: RolledOut, millis: number) => Effect.Effect<void>
  readonly onUnscorable: (task: Task, error: Unscorable, millis: number) => Effect.Effect<void>
  /** An attempt failed; `isFinal` when the item is given up. */
  readonly onFailure: (task: Task, failure: Failure, millis: number, isFinal: boolean) => Effect.Effect<void>
}

export interface PoolOptions extends Pick<ItemFeed.Options, "items" | "from" | "isDone"> {
  /** Items that an earlier process had put back, held already; rolled out before those of the stream. */
  readonly requeued?: ReadonlyArray<Pick<Task, "index" | "path" | "work">>
  /** Rollouts that may be started now; read again whenever `news` is opened. */
  readonly room: (running: number) => number
  /** A rollout begins, also one that is tried again. */
  readonly onBegin?: () => void
  /** Opened by whoever changes what `room` depends on; closed here. */
  readonly news: Latch.Latch
  /** Seconds per item; 0 or less: no limit. */
  readonly timeoutSeconds: number
  /** Longest sequence, tokens, asked for every rollout; 0 or less: no limit is known. */
  readonly sequenceLimit: () => number
  /** How far training has come, asked for every rollout. */
  readonly progress: () => TrainingProgress.TrainingProgress
  readonly maxAttempts: number
  /** Failures in a row after which starts slow down. */
  readonly failuresBeforeSlowdown: number
  readonly outcomes: Outcomes
}

export interface Pool {
  readonly running: () => number
  /** Starts nothing more. */
  readonly stop: () => void
  /** Waits until nothing runs. */
  readonly drained: Effect.Effect<void>
  /** Runs until the items have ended and are rolled out; fails if they cannot be read, or if no rollout can succeed. */
  readonly run: Effect.Effect<void, EnvironmentError>
}

/** A pool whose fibers live in `scope`. */
export const make = (options: PoolOptions, scope: Scope.Scope): Pool => {
  const { news, outcomes, room } = options
  const onChange = (): void => void news.openUnsafe()
  const idle = Latch.makeUnsafe(true)
  const requeued = (options.requeued ?? []).map((item) => ({ ...item, failures: 0, isRetry: true }))
  const backlog = Backlog.make(requeued, scope, onChange)
  const feed = ItemFeed.make({ ...options, onChange })
  const streak = FailureStreak.make(options.failuresBeforeSlowdown)
  const unusable = Deferred.makeUnsafe<never, EnvironmentError>()
  const attempt = attempts(options, backlog, streak, unusable)
  let running = 0
  let isStopped = false

  const take = (): Task | undefined => {
    const waiting = backlog.take()
    if (waiting !== undefined) return waiting
    const item = feed.take()
    return item && { ...item, path: String(item.index), failures: 0, isRetry: false }
  }

  const start = (task: Task): Effect.Effect<void> =>
    Effect.suspend(() => {
      running++
      options.onBegin?.()
      idle.closeUnsafe()
      return attempt(task).pipe(
        Effect.ensuring(
          Effect.sync(() => {
            running--
            if (running === 0) idle.openUnsafe()
            onChange()
          })
        ),
        Effect.forkIn(scope),
        Effect.asVoid
      )
    })

  const dispatch = Effect.gen(function* () {
    for (;;) {
      news.closeUnsafe()
      if (isStopped) return
      const free = streak.isSlow() ? Math.min(room(running), 1 - running) : room(running)
      if (free > 0) {
        if (streak.isSlow()) {
          yield* streak.pause
          // It took a while: a limit may have shrunk, or the pool have been stopped.
          if (isStopped || room(running) <= 0) continue
        }
        const task = take()
        if (task !== undefined) {
          if (!task.isRetry) outcomes.onStart(task)
          yield* start(task)
          continue
        }
        if (feed.hasEnded() && running === 0 && backlog.isEmpty()) return
      }
      yield* news.await
    }
  })

  return {
    running: () => running,
    stop: () => {
      isStopped = true
      onChange()
    },
    drained: idle.await,
    // The end of the items is not the end of the run: their rollouts are.
    run: Effect.raceFirst(dispatch, Effect.raceFirst(Deferred.await(unusable), Effect.andThen(feed.run, Effect.never)))
  }
}

/**
 * One attempt at a task, in a span of its own; what it comes to goes to `outcomes`, and what follows from it to
 * `backlog`.
 */
const attempts = (
  { maxAttempts, outcomes, progress, sequenceLimit, timeoutSeconds }: PoolOptions,
  backlog: Backlog.Backlog,
  streak: FailureStreak.FailureStreak,
  unusable: Deferred.Deferred<never, EnvironmentError>
): ((task: Task) => Effect.Effect<void>) => {
  const limited = ({ work }: Task) => {
    const rollOut = work.rollOut.pipe(SequenceLimit.within(sequenceLimit()), TrainingProgress.at(progress()))
    return timeoutSeconds <= 0 ? rollOut : Effect.timeout(rollOut, timeoutSeconds * 1000)
  }

  const rollOut = Effect.fnUntraced(function* (task: Task) {
    const startedAt = yield* Clock.currentTimeMillis
    const exit = yield* Effect.exit(limited(task))
    const millis = (yield* Clock.currentTimeMillis) - startedAt
    if (Exit.isSuccess(exit)) {
      streak.ended()
      exit.value.requeued.forEach((work, position) => {
        const again = { index: task.index, path: `${task.path}.${position}`, work, failures: 0, isRetry: true }
        outcomes.onStart(again)
        backlog.add(again)
      })
      yield* outcomes.onDone(task, exit.value, millis)
      return
    }
    const error = Cause.squash(exit.cause)
    if (error instanceof Unscorable) {
      streak.ended()
      yield* outcomes.onUnscorable(task, error, millis)
      return
    }
    if (isUnusable(error)) {
      yield* Deferred.fail(unusable, error)
      return
    }
    const failure = failureOf(exit.cause, timeoutSeconds)
    streak.failed(failure.reason)
    // An outage of the inference servers is not the item's fault: it costs no attempt, only time.
    const failures = isOutage(error) ? task.failures : task.failures + 1
    const isFinal = failures >= maxAttempts
    yield* Effect.annotateCurrentSpan({ "item.failed": failure.kind, "item.reason": failure.reason })
    yield* outcomes.onFailure({ ...task, failures }, failure, millis, isFinal)
    if (!isFinal) yield* backlog.addLater({ ...task, failures, isRetry: true })
  })

  return (task) =>
    rollOut(task).pipe(
      Effect.withSpan(Trace.roots.item, {
        root: true,
        attributes: {
          "item.label": task.work.label.slice(0, 200),
          "item.index": task.index,
          "item.failures": task.failures
        }
      }),
      // A defect of `outcomes` must not go unseen; the item stays unfinished, and is rolled out at the next start.
      Effect.catchDefect((defect) =>
        Effect.logError("the outcome of a rollout is lost", { item: task.work.label, defect })
      )
    )
}
