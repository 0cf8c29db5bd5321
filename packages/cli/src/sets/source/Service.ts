/**
 * Reads the stored rollouts of a service, queued and consumed, newest first and then new arrivals, until there are
 * enough rows.
 *
 * Each sweep reads from the newest group back into the previous sweep, since a group with a slow transaction appears
 * below newer ones. Waits if the service is unavailable; groups removed before they were read (a retention limit) are
 * counted.
 */
import { type ScoredGroup, StoredRollouts, TrajectoryError } from "@atropos/core"
import { Effect, Option, Schedule, Schema, Stream } from "effect"
import { CommandFailed, UsageError } from "../../base/Failure.ts"
import type { Source } from "./Source.ts"

export interface Options {
  readonly url: string
  readonly run: string
  readonly environment?: string
  readonly stepFrom?: number
  readonly stepTo?: number
  /** false: only the groups stored now. */
  readonly follows: boolean
}

const Ids = Schema.Array(Schema.String)

const Cursor = Schema.Struct({
  /** The newest groups of finished sweeps, newest first. */
  seen: Ids,
  /** The current sweep: its position and the newest groups it has seen. */
  sweep: Schema.NullOr(Schema.Struct({ before: Schema.String, seen: Ids }))
})
type Cursor = typeof Cursor.Type

const decodeCursor = Schema.decodeUnknownOption(Cursor)

/** Max number of groups a late one may be behind. */
const overlap = 100
const pageSize = 200
const fetchesAtOnce = 4
const pause = "1 second"

const isNewer = (a: string, b: string): boolean => BigInt(a) > BigInt(b)

/** The newest of both, newest first. */
const newest = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): ReadonlyArray<string> =>
  [...new Set([...a, ...b])].sort((one, other) => (isNewer(one, other) ? -1 : 1)).slice(0, overlap)

const patiently = Schedule.upTo(TrajectoryError.reconnecting, { duration: "10 minutes" })

const queryOf = ({ environment, stepFrom, stepTo }: Options) => ({
  limit: pageSize,
  ...(environment !== undefined && { environment }),
  ...(stepFrom !== undefined && { stepFrom }),
  ...(stepTo !== undefined && { stepTo })
})

/** The newest row; a run that does not exist is a usage error that lists those that do. */
const newestRow = Effect.fnUntraced(function* (options: Options) {
  const { run, url } = options
  const rollouts = yield* StoredRollouts.StoredRollouts
  const { rows } = yield* rollouts.page({ ...queryOf(options), limit: 1 }).pipe(
    Effect.catchIf(
      ({ reason }) => reason === "notFound",
      () =>
        Effect.flatMap(rollouts.runs, (runs) =>
          Effect.fail(
            new UsageError({
              message: `run not found at ${url}: ${run} (--run); runs: ${runs.length === 0 ? "none yet" : runs.join(", ")}`
            })
          )
        )
    )
  )
  return Option.fromNullishOr(rows[0])
})

const failed = (error: TrajectoryError.TrajectoryError): CommandFailed =>
  new CommandFailed({
    message:
      error.reason === "unauthorized"
        ? `${error.message}. Set ATROPOS_TOKEN to a token with the role reader`
        : error.message,
    cause: error
  })

/** The newest group; none if none is stored yet. */
export const newestGroup = Effect.fn("Service.newestGroup")(
  function* (options: Options) {
    const rollouts = yield* StoredRollouts.StoredRollouts
    const row = yield* newestRow(options)
    return yield* Option.match(row, {
      onNone: () => Effect.succeedNone,
      onSome: ({ id }): Effect.Effect<Option.Option<ScoredGroup.ScoredGroup>, TrajectoryError.TrajectoryError> =>
        rollouts.group(id)
    })
  },
  Effect.catchTag("TrajectoryError", (error) => Effect.fail(failed(error)))
)

export const make = (options: Options): Source<StoredRollouts.StoredRollouts> => {
  const { environment, follows, run, stepFrom, stepTo, url } = options
  const query = queryOf(options)
  return {
    name: `run ${run} of ${url}`,
    identity: { url, run, environment: environment ?? null, stepFrom: stepFrom ?? null, stepTo: stepTo ?? null },
    checkpointEvery: 200,
    run: Effect.fn("Service.run")(
      function* (sink, from) {
        const rollouts = yield* StoredRollouts.StoredRollouts
        yield* newestRow(options)
        let cursor: Cursor = Option.getOrElse(Option.flatMap(from, decodeCursor), () => ({ seen: [], sweep: null }))
        const persistent = <A>(effect: Effect.Effect<A, TrajectoryError.TrajectoryError>) =>
          effect.pipe(
            Effect.tapError((error) =>
              error.isPassing ? sink.note(`${error.message}; retrying for ten minutes`) : Effect.void
            ),
            Effect.retry(patiently)
          )
        for (;;) {
          const known = new Set(cursor.seen)
          const floor = cursor.seen.length < overlap ? undefined : cursor.seen.at(-1)
          const page = yield* persistent(
            rollouts.page({ ...query, ...(cursor.sweep !== null && { before: cursor.sweep.before }) })
          )
          const rows = page.rows.filter(({ id }) => floor === undefined || isNewer(id, floor))
          const hasMore = yield* Stream.fromIterable(rows.filter(({ id }) => !known.has(id))).pipe(
            Stream.mapEffect(
              ({ id, scores }) =>
                sink.wants(scores)
                  ? Effect.map(persistent(rollouts.group(id)), (group) => ({ id, scores, wanted: Option.some(group) }))
                  : Effect.succeed({ id, scores, wanted: Option.none() }),
              { concurrency: fetchesAtOnce }
            ),
            Stream.mapEffect(({ id, scores, wanted: loaded }) => {
              cursor = { ...cursor, sweep: { before: id, seen: newest(cursor.sweep?.seen ?? [], [id]) } }
              if (Option.isNone(loaded)) return sink.pass(scores, cursor)
              if (Option.isNone(loaded.value)) sink.gone(scores.length)
              return sink.take(Option.toArray(loaded.value), cursor)
            }),
            Stream.takeUntil((wantsMore) => !wantsMore),
            Stream.runLast
          )
          if (Option.contains(hasMore, false)) return
          const isOver = page.next === null || rows.length < page.rows.length
          if (!isOver) {
            cursor = {
              ...cursor,
              sweep: { before: page.next ?? "0", seen: cursor.sweep?.seen ?? [] }
            }
            continue
          }
          cursor = { seen: newest(cursor.seen, cursor.sweep?.seen ?? []), sweep: null }
          if (!follows) return
          yield* Effect.sleep(pause)
        }
      },
      Effect.catchTag("TrajectoryError", (error) => Effect.fail(failed(error)))
    )
  }
}
