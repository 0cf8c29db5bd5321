/**
 * Rolls items out concurrently within the available capacity, each in its own fiber.
 *
 * A rollout that fails, dies or times out only affects its item, which is retried after a pause and abandoned after
 * `maxAttempts`, not counting outages of the inference servers. A shrinking limit never cancels rollouts in progress.
 * After repeated failures, rollouts start one at a time and ever more slowly, so that an outage does not use items up.
 * An environment that reports itself unusable ends the pool.
 */
import * as ItemTime from "../../definition/ItemTime.ts"
import { Cause, Clock, Deferred, Effect, Exit, Latch, type Scope } from "effect"
import { type EnvironmentError, isUnusable, type RolledOut, Unscorable } from "../../Environment.ts"
import * as SequenceLimit from "../../inference/sequences/SequenceLimit.ts"
import * as TrainingProgress from "../../definition/TrainingProgress.ts"
import * as Trace from "../../base/Trace.ts"
import * as CircuitBreaker from "./CircuitBreaker.ts"
import * as ItemFeed from "./ItemFeed.ts"
import { type Failure, failureOf, isOutage, type Task } from "./Task.ts"
import * as Retry from "../../base/Retry.ts"

/** Tasks that precede new items: requeued ones, and retries after a pause. */
interface Backlog {
  readonly add: (task: Task) => void
  /** Adds a failed task, after a pause that grows with its failures. */
  readonly addLater: (task: Task) => Effect.Effect<void>
  readonly take: () => Task | undefined
  /** True if nothing is waiting, now or after a pause. */
  readonly isEmpty: () => boolean
}

/** Pauses end with `scope`; `onChange`: a pause is over. */
const makeBacklog = (tasks: ReadonlyArray<Task>, scope: Scope.Scope, onChange: () => void): Backlog => {
  const waiting = [...tasks]
  let paused = 0
  return {
    add: (task) => void waiting.push(task),
    addLater: (task) =>
      Effect.suspend(() => {
        paused++
        return Effect.gen(function* () {
          yield* Effect.sleep(yield* Retry.backoffMillis(Math.max(1, task.failures)))
          paused--
          waiting.push(task)
          onChange()
        }).pipe(Effect.forkIn(scope), Effect.asVoid)
      }),
    take: () => waiting.shift(),
    isEmpty: () => waiting.length === 0 && paused === 0
  }
}

export interface Outcomes {
  readonly onStart: (task: Task) => void
  /** The rollout is over; its requeued items have already been added. */
  readonly onDone: (task: Task, rolledOut: RolledOut, millis: number) => Effect.Effect<void>
  readonly onUnscorable: (task: Task, error: Unscorable, millis: number) => Effect.Effect<void>
  /** An attempt failed; `isFinal` if the item is abandoned. */
  readonly onFailure: (task: Task, failure: Failure, millis: number, isFinal: boolean) => Effect.Effect<void>
}

export interface PoolOptions extends Pick<ItemFeed.Options, "items" | "from" | "isDone"> {
  /** Items requeued by an earlier process, already held; rolled out before those of the stream. */
  readonly requeued?: ReadonlyArray<Pick<Task, "index" | "path" | "work">>
  /** Rollouts that may start now; read again whenever `news` opens. */
  readonly capacity: (running: number) => number
  readonly onBegin?: () => void
  /** Opened by anything that changes `capacity`; closed here. */
  readonly news: Latch.Latch
  /** Timeout per item, seconds; 0 or less: no limit. */
  readonly timeoutSeconds: number
  /** Max sequence length, tokens, read per rollout; 0 or less: no known limit. */
  readonly sequenceLimit: () => number
  /** Training progress, read per rollout. */
  readonly progress: () => TrainingProgress.TrainingProgress
  readonly maxAttempts: number
  /** Consecutive failures after which starts slow down. */
  readonly failuresBeforeSlowdown: number
  readonly outcomes: Outcomes
}

export interface Pool {
  readonly running: () => number
  readonly stop: () => void
  readonly drained: Effect.Effect<void>
  /** Runs until all items are rolled out; fails if they cannot be read, or if no rollout can succeed. */
  readonly run: Effect.Effect<void, EnvironmentError>
}

export const make = (options: PoolOptions, scope: Scope.Scope): Pool => {
  const { news, outcomes, capacity } = options
  const onChange = (): void => void news.openUnsafe()
  const idle = Latch.makeUnsafe(true)
  const requeued = (options.requeued ?? []).map((item) => ({ ...item, failures: 0, isRetry: true }))
  const backlog = makeBacklog(requeued, scope, onChange)
  const feed = ItemFeed.make({ ...options, onChange })
  const breaker = CircuitBreaker.make(options.failuresBeforeSlowdown)
  const unusable = Deferred.makeUnsafe<never, EnvironmentError>()
  const attempt = attempts(options, backlog, breaker, unusable)
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
      const free = breaker.isSlow() ? Math.min(capacity(running), 1 - running) : capacity(running)
      if (free > 0) {
        if (breaker.isSlow()) {
          yield* breaker.pause
          // Time has passed: a limit may have shrunk, or the pool may have been stopped.
          if (isStopped || capacity(running) <= 0) continue
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
    // The run ends with the rollouts, not with the items.
    run: Effect.raceFirst(dispatch, Effect.raceFirst(Deferred.await(unusable), Effect.andThen(feed.run, Effect.never)))
  }
}

/** Runs one attempt at a task in its own span; reports it to `outcomes`, and adds follow-ups to `backlog`. */
const attempts = (
  { maxAttempts, outcomes, progress, sequenceLimit, timeoutSeconds }: PoolOptions,
  backlog: Backlog,
  breaker: CircuitBreaker.CircuitBreaker,
  unusable: Deferred.Deferred<never, EnvironmentError>
): ((task: Task) => Effect.Effect<void>) => {
  const limited = ({ work }: Task) => {
    return work.rollOut.pipe(
      SequenceLimit.within(sequenceLimit()),
      TrainingProgress.at(progress()),
      ItemTime.within(timeoutSeconds, `took longer than ${timeoutSeconds} seconds`)
    )
  }

  const rollOut = Effect.fnUntraced(function* (task: Task) {
    const startedAt = yield* Clock.currentTimeMillis
    const exit = yield* Effect.exit(limited(task))
    const millis = (yield* Clock.currentTimeMillis) - startedAt
    if (Exit.isSuccess(exit)) {
      breaker.ended()
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
      breaker.ended()
      yield* outcomes.onUnscorable(task, error, millis)
      return
    }
    if (isUnusable(error)) {
      yield* Deferred.fail(unusable, error)
      return
    }
    const failure = failureOf(exit.cause)
    breaker.failed(failure.reason)
    // An outage of the inference servers is not the item's fault: it does not count as an attempt.
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
      // A defect of `outcomes` is logged; the item stays unfinished, and is rolled out at the next start.
      Effect.catchDefect((defect) =>
        Effect.logError("lost the outcome of a rollout", { item: task.work.label, defect })
      )
    )
}
