/**
 * Pushes the latest weights to one target, one push at a time, in its own fiber.
 *
 * A failed attempt is retried with growing, jittered delay, a bounded number of times; a newer push replaces an older
 * one. Until a push succeeds the target serves its previous weights. After each success, weights older than the `grace`
 * versions before it are unloaded; failed unloads are retried next time. Between pushes the target is polled, and
 * receives weights again that it lost.
 */
import { Cause, Deferred, Duration, Effect, Latch, Metric, Option, Random, Result, type Scope } from "effect"
import { type Adapter, type Target, TargetError } from "./Target.ts"

export interface Options {
  /** Attempts per push, including the first. */
  readonly attempts: number
  readonly firstDelay: Duration.Duration
  readonly maxDelay: Duration.Duration
  readonly attemptTime: Duration.Duration
  /** Number of older versions that stay loaded, for requests that still use them. */
  readonly grace: number
  /** Interval at which the target is polled for its weights. */
  readonly watch: Duration.Duration
  /** Called when this target no longer uses the weights of a name. */
  readonly onReleased: Effect.Effect<void>
}

export type Outcome = "served" | "superseded"

export interface Job {
  readonly adapter: Adapter
  /** Completes after the first attempt, successful or not. */
  readonly attempted: Deferred.Deferred<void>
  readonly done: Deferred.Deferred<Outcome, TargetError>
}

export interface Status {
  readonly target: string
  readonly servedVersion: number | undefined
  /** Model name that clients request, for servers with named adapters. */
  readonly servedName: string | undefined
  /** Version being pushed, or waiting for its next attempt. */
  readonly pendingVersion: number | undefined
  readonly failures: number
  readonly lastError: string | undefined
  /** Why the newest offered weights can never be served. */
  readonly refusal: string | undefined
}

export interface TargetWorker {
  readonly offer: (adapter: Adapter) => Effect.Effect<Job>
  readonly status: Effect.Effect<Status>
  /** True if the target has, may have, or will get the weights of a name. */
  readonly uses: (name: string) => boolean
}

const pushes = Metric.counter("atropos.sync.attempts.total", {
  description: "Attempts to push new weights to a sampler, by target and outcome",
  incremental: true
})
const version = Metric.gauge("atropos.sync.version", { description: "Policy version a target serves" })

const countFor =
  ({ name: target }: Target) =>
  (outcome: "success" | "failure") =>
    Metric.update(Metric.withAttributes(pushes, { target, outcome }), 1)

/** Tries once to load the weights into the target; every error becomes a `TargetError`. */
const attempt = (
  target: Target,
  adapter: Adapter,
  { isRepeated, time }: { readonly isRepeated: boolean; readonly time: Duration.Duration }
) =>
  target.load(adapter, isRepeated).pipe(
    Effect.timeoutOrElse({
      duration: time,
      orElse: () =>
        Effect.fail(
          new TargetError({
            target: target.name,
            message: `no answer within ${Duration.toSeconds(time)} s`,
            isPermanent: false
          })
        )
    }),
    Effect.catchCauseIf(
      (cause) => !Cause.hasInterruptsOnly(cause),
      (cause) => Effect.fail(toTargetError(target.name, cause))
    ),
    Effect.result
  )

/** Delay after a failed attempt, counted from 1. */
const delay = (attempt: number, { firstDelay, maxDelay }: Pick<Options, "firstDelay" | "maxDelay">) =>
  Effect.map(Random.nextBetween(0.5, 1), (jitter) =>
    Duration.min(maxDelay, Duration.times(firstDelay, 2 ** (attempt - 1))).pipe(Duration.times(jitter))
  )

const jobOf = Effect.fnUntraced(function* (adapter: Adapter): Effect.fn.Return<Job> {
  return {
    adapter,
    attempted: yield* Deferred.make<void>(),
    done: yield* Deferred.make<Outcome, TargetError>()
  }
})

const isUnloaded = Effect.fnUntraced(function* (target: Target, name: string, time: Duration.Duration) {
  const outcome = yield* Effect.result(Effect.timeout(target.unload(name), time))
  if (Result.isSuccess(outcome)) return true
  yield* Effect.logWarning("old weights could not be unloaded", {
    target: target.name,
    name,
    reason: outcome.failure.message
  })
  return false
})

/** True if a target answers but lacks the weights that it should have. */
const isLost = Effect.fnUntraced(function* <E>(
  target: string,
  { version: policyVersion }: Adapter,
  has: Effect.Effect<boolean, E>
) {
  const answer = yield* Effect.result(has)
  if (Result.isFailure(answer) || answer.success) return false
  yield* Effect.logWarning("target lost its weights; pushing them again", { target, policyVersion })
  return true
})

const logFailure = (target: string, attempt: { readonly [key: string]: unknown }, { message }: TargetError) =>
  Effect.logWarning("weights could not be pushed", { target, ...attempt, reason: message })

const logEnd = (target: string, { version: policyVersion }: Adapter, attempts: number) =>
  Effect.logError("giving up on pushing weights", { target, policyVersion, attempts })

const supersede = ({ attempted, done }: Job) =>
  Effect.andThen(Deferred.succeed(attempted, undefined), Deferred.succeed(done, "superseded"))

export const make = Effect.fn("TargetWorker.make")(function* (
  target: Target,
  options: Options
): Effect.fn.Return<TargetWorker, never, Scope.Scope> {
  const arrived = yield* Latch.make(false)
  let pending: Job | undefined
  let current: Job | undefined
  let served: Adapter | undefined
  /** The newest weights that it has not rejected. */
  let newest: Adapter | undefined
  let failures = 0
  let lastError: string | undefined
  let refusal: string | undefined
  /** Names the target has or may have, oldest first. */
  let held: ReadonlyArray<string> = []

  const count = countFor(target)

  const retire = Effect.gen(function* () {
    const old = held.slice(0, Math.max(0, held.length - 1 - options.grace))
    for (const name of old) {
      if (yield* isUnloaded(target, name, options.attemptTime)) held = held.filter((one) => one !== name)
    }
  })

  const succeed = Effect.fnUntraced(function* (job: Job) {
    const { adapter } = job
    served = adapter
    failures = 0
    lastError = undefined
    refusal = undefined
    held = [...held.filter((name) => name !== adapter.name), adapter.name]
    yield* count("success")
    yield* Metric.update(Metric.withAttributes(version, { target: target.name }), adapter.version)
    yield* Effect.logInfo("weights pushed", { target: target.name, policyVersion: adapter.version, name: adapter.name })
    yield* Deferred.succeed(job.done, "served")
    yield* Deferred.succeed(job.attempted, undefined)
    yield* retire
  })

  const fail = Effect.fnUntraced(function* ({ adapter, attempted }: Job, error: TargetError, attempt: number) {
    failures++
    lastError = error.message
    if (error.isPermanent) {
      refusal = error.message
      if (newest === adapter) newest = served
    }
    // The server may have processed the request anyway.
    if (!error.isPermanent && !held.includes(adapter.name)) held = [...held, adapter.name]
    yield* count("failure")
    yield* logFailure(target.name, { policyVersion: adapter.version, attempt, servedVersion: served?.version }, error)
    yield* Deferred.succeed(attempted, undefined)
  })

  const bring = Effect.fnUntraced(function* (job: Job) {
    newest = job.adapter
    for (let number = 1; ; number++) {
      const outcome = yield* attempt(target, job.adapter, { isRepeated: number > 1, time: options.attemptTime })
      if (Result.isSuccess(outcome)) return yield* succeed(job)
      const error = outcome.failure
      yield* fail(job, error, number)
      if (error.isPermanent || number >= options.attempts) {
        yield* logEnd(target.name, job.adapter, number)
        yield* Deferred.fail(job.done, error)
        return
      }
      yield* Effect.timeoutOption(arrived.await, yield* delay(number, options))
      if (pending !== undefined) return yield* Deferred.succeed(job.done, "superseded")
    }
  })

  /** Waits for something to push: offered weights, or weights that the target has lost. */
  const waited: Effect.Effect<void> = Effect.suspend(() => {
    const latest = newest
    const { has } = target
    if (latest === undefined || has === undefined) return arrived.await
    return Effect.flatMap(Effect.timeoutOption(arrived.await, options.watch), (push) =>
      Option.isSome(push)
        ? Effect.void
        : Effect.flatMap(isLost(target.name, latest, Effect.timeout(has(latest.name), options.attemptTime)), (lost) =>
            lost && pending === undefined ? Effect.map(jobOf(latest), (job) => void (pending = job)) : waited
          )
    )
  })

  yield* Effect.forever(
    Effect.gen(function* () {
      yield* waited
      yield* arrived.close
      current = pending
      pending = undefined
      if (current !== undefined) yield* bring(current)
      current = undefined
      yield* options.onReleased
    })
  ).pipe(Effect.forkScoped)

  return {
    offer: Effect.fnUntraced(function* (adapter: Adapter) {
      const job = yield* jobOf(adapter)
      const older = pending
      pending = job
      if (older !== undefined) yield* supersede(older)
      yield* arrived.open
      return job
    }),
    status: Effect.sync(() => ({
      target: target.name,
      servedVersion: served?.version,
      servedName: served?.name,
      // While old weights are unloaded, the new ones are already being served.
      pendingVersion: (pending ?? (current?.adapter === served ? undefined : current))?.adapter.version,
      failures,
      lastError,
      refusal
    })),
    uses: (name) => held.includes(name) || pending?.adapter.name === name || current?.adapter.name === name
  }
})

/** A target's defect counts as its failure; other targets continue. */
const toTargetError = (target: string, cause: Cause.Cause<TargetError>): TargetError => {
  const error = Cause.squash(cause)
  return error instanceof TargetError
    ? error
    : new TargetError({
        target,
        message: error instanceof Error ? error.message : String(error),
        isPermanent: false,
        cause: error
      })
}
