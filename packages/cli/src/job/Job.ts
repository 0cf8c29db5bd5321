/**
 * Rolls out items with several workers into a resumable file, until enough gave a result or none are left.
 *
 * A failed or timed-out item is counted, replaced by another, and retried on resume. The run ends after a streak of
 * failures without any result (a dead server), after a thousand items without a result, and if the environment reports
 * that no item can succeed. Results are in the file even if interrupted.
 */
import { Environment } from "@atropos/core"
import * as ItemTime from "@atropos/core/definition/ItemTime"
import * as Reason from "@atropos/core/base/Reason"
import * as Cursor from "@atropos/core/rollout/state/Cursor"
import { Cause, Clock, Effect, Exit, Option, Semaphore, type Stream } from "effect"
import { CommandFailed, type Failure } from "../base/Failure.ts"
import * as ItemFeed from "./ItemFeed.ts"
import type * as ResumableFile from "./ResumableFile.ts"
import * as Tally from "./Tally.ts"

export interface ItemResult<Line = string> {
  readonly lines: ReadonlyArray<Line>
  readonly tally: Tally.Tally
  /** True if it counts towards the target; otherwise another item takes its place. */
  readonly counts: boolean
  /** Describes why part of it was dropped. */
  readonly whyDropped?: string
}

/** Receives lines together with the progress; usually a file. */
export interface Sink<Line> {
  readonly path: string
  readonly append: (
    lines: ReadonlyArray<Line>,
    state: Pick<ResumableFile.Checkpoint, "cursor" | "tally">
  ) => Effect.Effect<void, Failure>
}

export interface JobOptions<Item, Line, E, R> {
  readonly items: (cursor: number) => Stream.Stream<Item, E>
  readonly label: (item: Item) => string
  readonly roll: (item: Item, index: number) => Effect.Effect<ItemResult<Line>, E, R>
  readonly workers: number
  /** Seconds per item; 0 or less: no limit. */
  readonly timeoutSeconds: number
  /** Number of results including those of earlier runs; undefined: all items. */
  readonly target: number | undefined
  readonly file: Sink<Line>
  readonly from: Option.Option<Pick<ResumableFile.Checkpoint, "cursor" | "tally">>
  readonly onProgress: (tally: Tally.Tally) => Effect.Effect<void>
  /** Returns true if there was any result, including those of earlier runs. */
  readonly isFruitful: (tally: Tally.Tally) => boolean
}

export interface JobResult {
  readonly tally: Tally.Tally
  /** Items that failed in this run. */
  readonly failures: number
  /** The most frequent reasons of failures, each with its first item. */
  readonly reasons: ReadonlyArray<string>
  /** Set if there was no result at all; the caller fails with this message. */
  readonly nothing?: string
}

/** Consecutive failures that end a run without any result, in addition to one round of all workers. */
const patience = 8
/** Consecutive items without a result that end a run: an environment that drops everything would never end. */
const maxWithoutResult = 1_000
const shownReasons = 5
/** Reasons counted; they may contain model output. */
const maxReasons = 1_000
const maxLabelLength = 200

const shownCounts = (counts: Tally.Tally["dropped"]): string =>
  Object.entries(counts)
    .map(([reason, count]) => `${reason} ${count}`)
    .join(", ") || "no reason given"

/** Explains why there was no result, with the outcome of the first item. */
const whyNothing = (
  { dropped, items }: Tally.Tally,
  { first, reasons }: { readonly first: FirstDrop | undefined; readonly reasons: ReadonlyArray<string> }
): string => {
  const failed = reasons.length === 0 ? "" : ` Items failed: ${reasons.join("; ")}.`
  if (first === undefined) {
    return items === 0 && failed === ""
      ? "no output: the environment has no items"
      : `${items} items produced no groups.${failed}`
  }
  return `no output: all groups were dropped (${shownCounts(dropped)}). The first was item ${first.item}: ${first.reason}${failed === "" ? "" : `.${failed}`}`
}

interface FirstDrop {
  readonly item: string
  readonly reason: string
}

const reasonOf = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  return Cause.isTimeoutError(error) ? error.message : Reason.of(error)
}

const ofItem = (reason: string, item: string): string => `${reason} (item ${item})`

interface FailedItems {
  readonly first: string
  readonly count: number
}

const addFailure = (failed: Map<string, FailedItems>, reason: string, item: string): void => {
  const { count, first } = failed.get(reason) ?? { first: item, count: 0 }
  if (count > 0 || failed.size < maxReasons) failed.set(reason, { first, count: count + 1 })
}

const byFrequency = (failed: ReadonlyMap<string, FailedItems>): ReadonlyArray<string> =>
  Array.from(failed)
    .sort(([, left], [, right]) => right.count - left.count)
    .slice(0, shownReasons)
    .map(([reason, { count, first }]) =>
      count === 1 ? ofItem(reason, first) : `${reason} (item ${first} and ${count - 1} more)`
    )

/** For an error of the items themselves, once those taken before it are finished. */
const endedByItems = (cause: Cause.Cause<unknown>, path: string | undefined) =>
  new CommandFailed({
    message: `${reasonOf(cause)}. ${path === undefined ? "No group was finished" : `Finished groups are in ${path}`}`,
    cause
  })

export const run = Effect.fn("Job.run")(function* <Item, Line, E, R>(options: JobOptions<Item, Line, E, R>) {
  const {
    file,
    from,
    isFruitful,
    items,
    label,
    onProgress,
    roll,
    target = Number.POSITIVE_INFINITY,
    timeoutSeconds,
    workers
  } = options
  const started = yield* Clock.currentTimeMillis
  const cursor = Cursor.make(Option.getOrUndefined(from)?.cursor)
  let tally = Option.getOrUndefined(from)?.tally ?? Tally.empty
  const late = `took longer than ${timeoutSeconds} s (env.worker_timeout)`
  const { items: itemsBefore, millis: millisBefore } = tally
  const failed = new Map<string, FailedItems>()
  let failures = 0
  let failuresInARow = 0
  let withoutResult = 0
  let first: FirstDrop | undefined
  let pending: Array<Line> = []
  let hasNews = false
  const shown = (item: Item): string => label(item).slice(0, maxLabelLength)
  const reasons = (): ReadonlyArray<string> => byFrequency(failed)

  // A single writer takes everything pending, so that under load many results share one write.
  const writing = yield* Semaphore.make(1)
  const flush = Effect.suspend(() => {
    if (!hasNews) return Effect.void
    const lines = pending
    pending = []
    hasNews = false
    return file.append(lines, { cursor: cursor.save(), tally })
  }).pipe(writing.withPermits(1), Effect.uninterruptible)

  const { failure, next } = yield* ItemFeed.make(items(cursor.frontier()), cursor)
  const remaining = Math.max(0, target - tally.items)
  // One ticket per missing result: a worker without one waits until a failure returns its ticket, or until the end.
  const tickets = yield* Semaphore.make(Number.isFinite(remaining) ? remaining : Number.MAX_SAFE_INTEGER)
  let isOver = false
  const finish = Effect.suspend(() => {
    isOver = true
    return tickets.release(1)
  })

  const settle = Effect.fnUntraced(function* ({ index, item }: ItemFeed.NumberedItem<Item>, result: ItemResult<Line>) {
    const now = yield* Clock.currentTimeMillis
    failuresInARow = 0
    tally = { ...Tally.add(tally, result.tally), millis: millisBefore + now - started }
    withoutResult = result.counts ? 0 : withoutResult + 1
    if (result.counts) tally = { ...tally, items: tally.items + 1 }
    if (result.whyDropped !== undefined) first ??= { item: shown(item), reason: result.whyDropped }
    pending.push(...result.lines)
    cursor.hold(index)
    cursor.release(index)
    hasNews = true
    yield* flush
    yield* onProgress(tally)
  }, Effect.uninterruptible)

  const worker = Effect.gen(function* () {
    for (;;) {
      yield* tickets.take(1)
      const taken = isOver ? Option.none() : yield* next
      if (Option.isNone(taken)) return yield* finish
      const { index, item } = taken.value
      const rolling = roll(item, index)
      const exit = yield* Effect.exit(ItemTime.within(timeoutSeconds, late)(rolling))
      if (Exit.isSuccess(exit)) {
        yield* settle(taken.value, exit.value)
        if (withoutResult >= maxWithoutResult) {
          return yield* new CommandFailed({
            message: isFruitful(tally)
              ? `${withoutResult} consecutive items gave no group: the environment skipped, requeued or could not score them (${shownCounts(tally.dropped)}). Finished groups are in ${file.path}`
              : whyNothing(tally, { first, reasons: reasons() })
          })
        }
        if (tally.items >= target) yield* finish
        else if (!exit.value.counts) yield* tickets.release(1)
        continue
      }
      if (Cause.hasInterruptsOnly(exit.cause)) return yield* Effect.failCause(exit.cause)
      const error = Cause.squash(exit.cause)
      if (Environment.isUnusable(error)) return yield* new CommandFailed({ message: error.message, cause: error })
      failures++
      failuresInARow++
      const reason = reasonOf(exit.cause)
      addFailure(failed, reason, shown(item))
      yield* Effect.logDebug("item failed", { item: label(item), reason })
      if (failuresInARow >= workers + patience) {
        return yield* new CommandFailed({
          message: `${failuresInARow} consecutive items failed; the last error: ${ofItem(reason, shown(item))}. ${isFruitful(tally) ? `Finished groups are in ${file.path}; run the same command again to continue` : "No group was finished"}`,
          cause: exit.cause
        })
      }
      yield* tickets.release(1)
    }
  })

  yield* Effect.all(
    Array.from({ length: Math.min(workers, remaining) }, () => worker),
    { concurrency: "unbounded", discard: true }
  ).pipe(Effect.ensuring(Effect.ignore(flush)))
  const broken = failure()
  if (broken !== undefined) return yield* endedByItems(broken, isFruitful(tally) ? file.path : undefined)
  if (failures > 0 && tally.items === itemsBefore) {
    return yield* new CommandFailed({ message: `all ${failures} items failed: ${reasons().join("; ")}` })
  }
  const ended = yield* Clock.currentTimeMillis
  return {
    // Includes the time of failed items.
    tally: { ...tally, millis: millisBefore + ended - started },
    failures,
    reasons: reasons(),
    ...(!isFruitful(tally) && { nothing: whyNothing(tally, { first, reasons: reasons() }) })
  } satisfies JobResult
}, Effect.scoped)
