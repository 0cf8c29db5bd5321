/**
 * Connects one source to one sink: queues entries, retries, and logs outages.
 *
 * A failing sink only costs its source a bounded amount of memory: 10,000 entries or 32 MiB, dropping the oldest. An
 * outage is logged at its beginning and its end, and losses at the end.
 */
import { Deferred, type Duration, Effect, Exit, Latch, Metric, Result, Scope } from "effect"
import * as Retry from "../base/Retry.ts"
import * as Reason from "../base/Reason.ts"
import * as Waiting from "../base/Waiting.ts"
import type { Entry, Sink, SinkError, Source, Writer } from "./Sink.ts"

const entriesCounter = Metric.counter("atropos.metrics.entries.total", {
  description: "Metrics entries by sink and outcome (written, dropped)",
  incremental: true
})
const failuresCounter = Metric.counter("atropos.metrics.failures.total", {
  description: "Failed attempts of a metrics sink",
  incremental: true
})

export interface Feed {
  readonly push: (entry: Entry) => void
  /** Completes when everything pushed is written; immediately if the sink is unavailable. */
  readonly flushed: Effect.Effect<void>
  readonly finish: (exit: Exit.Exit<unknown, unknown>) => Effect.Effect<void>
}

const maxEntries = 10_000
const maxBytes = 32 * 1024 * 1024

/** Approximate memory of an entry. */
const sizeOf = (entry: Entry): number => {
  if (entry._tag === "Figures") return 64 * Object.keys(entry.values).length + 64
  let size = 64
  for (const row of entry.rows) for (const cell of row) size += typeof cell === "string" ? 2 * cell.length : 8
  return size
}

/** 0 for success, 255 for interruption, else 1, as the original's client sends. */
export const exitCodeOf = (exit: Exit.Exit<unknown, unknown>): number =>
  Exit.isSuccess(exit) ? 0 : Exit.hasInterrupts(exit) ? 255 : 1

/** Connects a source to a sink until the scope closes. */
export const open = Effect.fnUntraced(function* (sink: Sink, source: Source, flushWithin: Duration.Input) {
  const scope = yield* Scope.make()
  const arrival = Latch.makeUnsafe(false)
  /** Open while there is nothing to write, or writing is not possible. */
  const rest = Latch.makeUnsafe(true)
  const ended = yield* Deferred.make<number>()
  const drained = yield* Deferred.make<void>()
  const counted = (outcome: string, number: number) =>
    Metric.update(Metric.withAttributes(entriesCounter, { sink: sink.name, outcome }), number)
  let waiting: Array<Entry> = []
  let bytes = 0
  let dropped = 0
  /** Dropped entries that are not yet added to the counters. */
  let uncounted = 0
  /** Entries being written. */
  let inHand = 0
  let isOver = false

  const about = { sink: sink.name, source: source.name }
  const drop = (number: number): void => {
    dropped += number
    uncounted += number
  }
  const countDropped = Effect.suspend(() => {
    const number = uncounted
    uncounted = 0
    return number === 0 ? Effect.void : counted("dropped", number)
  })

  const persistently = retrying(about, { onAway: () => void rest.openUnsafe() })

  const stop = (error: SinkError) =>
    Effect.gen(function* () {
      isOver = true
      drop(waiting.length)
      waiting = []
      yield* Effect.logError("metrics sink stopped; continuing without it", { ...about, reason: error.message })
    })

  let refusals = 0
  const write = Effect.fnUntraced(function* (writer: Writer) {
    const entries = waiting.splice(0, sink.batch)
    inHand = entries.length
    for (const entry of entries) bytes -= sizeOf(entry)
    const written = yield* persistently.attempt(writer.write(entries))
    inHand = 0
    yield* countDropped
    if (Result.isSuccess(written)) return yield* counted("written", entries.length)
    drop(entries.length)
    if (written.failure.reason === "final") return yield* stop(written.failure)
    if (refusals++ === 0) {
      yield* Effect.logWarning("metrics rejected by the sink", { ...about, reason: written.failure.message })
    }
  })

  const work = Effect.gen(function* () {
    const opened = yield* persistently.attempt(Effect.provideService(sink.open(source), Scope.Scope, scope))
    if (Result.isFailure(opened)) return yield* stop(opened.failure)
    const writer = opened.success
    for (;;) {
      if (isOver) return
      arrival.closeUnsafe()
      if (waiting.length > 0) {
        yield* write(writer)
        continue
      }
      rest.openUnsafe()
      if (yield* Deferred.isDone(ended)) break
      yield* arrival.await
    }
    const finished = yield* persistently.attempt(writer.finish(yield* Deferred.await(ended)))
    if (Result.isFailure(finished)) {
      yield* Effect.logWarning("metrics sink could not finish", { ...about, reason: finished.failure.message })
    }
  }).pipe(
    Effect.catchCause((cause) =>
      Effect.suspend(() => {
        isOver = true
        return Effect.logError("metrics sink failed; continuing without it", {
          ...about,
          reason: Reason.ofCause(cause)
        })
      })
    ),
    Effect.ensuring(Effect.andThen(rest.open, Deferred.succeed(drained, undefined)))
  )
  yield* Effect.forkIn(work, scope)

  const feed: Feed = {
    push: (entry) => {
      if (isOver || Deferred.isDoneUnsafe(ended)) return drop(1)
      waiting.push(entry)
      if (!persistently.isAway()) rest.closeUnsafe()
      bytes += sizeOf(entry)
      while (waiting.length > maxEntries || (bytes > maxBytes && waiting.length > 1)) {
        bytes -= sizeOf(waiting.shift()!)
        drop(1)
      }
      arrival.openUnsafe()
    },
    flushed: rest.await,
    finish: (exit) =>
      Effect.gen(function* () {
        if (!(yield* Deferred.succeed(ended, exitCodeOf(exit)))) return
        arrival.openUnsafe()
        yield* Waiting.within(Deferred.await(drained), flushWithin)
        drop(inHand + waiting.length)
        isOver = true
        yield* Scope.close(scope, exit)
        yield* countDropped
        if (dropped > 0) yield* Effect.logWarning("metrics dropped", { ...about, entries: dropped })
      })
  }
  yield* Effect.addFinalizer(feed.finish)
  return feed
})

/** Retries until success or a permanent failure. Logs an outage at its beginning and its end. */
const retrying = (
  about: { readonly sink: string; readonly source: string },
  { onAway }: { readonly onAway: () => void }
) => {
  let isOut = false
  const attempt = <A>(effect: Effect.Effect<A, SinkError>): Effect.Effect<Result.Result<A, SinkError>> =>
    Effect.gen(function* () {
      for (let tries = 1; ; tries++) {
        const result = yield* Effect.result(effect)
        if (Result.isSuccess(result)) {
          if (isOut) yield* Effect.logInfo("metrics sink is back", about)
          isOut = false
          return result
        }
        const { message, reason, retryAfterMillis = 0 } = result.failure
        yield* Metric.update(Metric.withAttributes(failuresCounter, { sink: about.sink }), 1)
        if (reason !== "passing") return result
        if (!isOut) yield* Effect.logWarning("metrics sink failed; retrying", { ...about, reason: message })
        isOut = true
        onAway()
        yield* Effect.sleep(yield* Retry.backoffMillis(tries, { atLeast: retryAfterMillis }))
      }
    })
  return { attempt, isAway: () => isOut }
}
