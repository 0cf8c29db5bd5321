/**
 * Submissions, written together: what arrives while a write is under way goes into the next one, one statement for all,
 * so that durability costs one flush per write and not per group.
 *
 * Groups of the size their environment registered, and those of unknown environments, go into the queue. Others go into
 * their environment's buffer until some of them add up to its group size (`Packing.findGroups`), as in the original.
 */
import { type TrajectoryApi, Uuid } from "@atropos/core"
import { Cause, Clock, Deferred, Effect, Exit, Queue, Schedule, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { QueueFull, StoreError, type Submission } from "../../store/TrajectoryStore.ts"
import type { Changes } from "../base/Changes.ts"
import * as Codec from "../base/Codec.ts"
import * as Failure from "../base/Failure.ts"
import * as Insert from "./Insert.ts"
import type { PayloadCache } from "../base/PayloadCache.ts"
import type { Readiness } from "../base/Readiness.ts"
import * as Rows from "../base/Rows.ts"
import type { Settings } from "../base/Settings.ts"
import type { RunView, Views } from "../base/Views.ts"

type Outcome = TrajectoryApi.SubmitOutcome

interface Pending {
  readonly run: string
  readonly items: ReadonlyArray<Insert.Item>
  readonly bytes: number
  readonly outcomes: Deferred.Deferred<ReadonlyArray<Outcome>, StoreError>
}

interface Amount {
  readonly sequences: number
  readonly bytes: number
}

export interface Submit {
  readonly submit: (
    run: string,
    submissions: ReadonlyArray<Submission>
  ) => Effect.Effect<ReadonlyArray<Outcome>, StoreError | QueueFull>
}

// One write: more would hold up those behind it, and memory.
const mostBytes = 8 * 1024 ** 2
const mostSubmissions = 256

const isOdd = (view: RunView, { envColumn, submission }: Insert.Item): boolean => {
  const environment = envColumn < 0 ? undefined : view.environments[envColumn]
  return environment !== undefined && environment.groupSize !== submission.sequences
}

/** It failed for what was written, and not for the state of the database. */
const isOfTheirs = (exit: Exit.Exit<unknown, StoreError>): boolean =>
  Exit.isFailure(exit) && exit.cause.reasons.some((reason) => !Cause.isFailReason(reason) || !reason.error.isTransient)

export const make = Effect.fnUntraced(function* (
  settings: Settings,
  views: Views,
  changes: Changes,
  cache: PayloadCache,
  readiness: Pick<Readiness, "refuseWhenFull" | "wrote">
): Effect.fn.Return<Submit, never, SqlClient.SqlClient | Scope.Scope> {
  const sql = yield* SqlClient.SqlClient
  const { insertMixed, insertQueued } = yield* Insert.make(cache)
  const queue = yield* Queue.unbounded<Pending>()
  const waiting = new Set<Pending>()
  /** By view: what was written since it was read. */
  const written = new WeakMap<RunView, Amount>()
  let waitingBytes = 0
  let waitingSequences = 0

  const park = (name: string, now: Date) => sql`
    insert into run (
      name, created_at, is_registered, batch_size, max_token_length, starting_step, num_steps, checkpoint_dir,
      save_checkpoint_interval, wandb_group, wandb_project
    ) values (${name}, ${now}, false, -1, -1, 0, -1, '', -1, '', '')
    on conflict (name) where ended_at is null do nothing`

  const currentView = Effect.fnUntraced(function* (name: string, now: Date) {
    const { view } = yield* views.recent(name)
    if (view !== undefined) return view
    yield* park(name, now)
    views.invalidate(name)
    return yield* views.get(name)
  })

  const write = Effect.fnUntraced(function* (
    name: string,
    items: ReadonlyArray<Insert.Item>
  ): Effect.fn.Return<ReadonlyArray<Outcome>, SqlError | StoreError> {
    const now = new Date(yield* Clock.currentTimeMillis)
    // Reset may end the run between our look at it and our write: then once more, into its successor.
    for (let attempt = 0; attempt < 5; attempt++) {
      let view = yield* currentView(name, now)
      if (view !== undefined && items.some(({ envColumn }) => envColumn >= view!.environments.length)) {
        // Perhaps it registered with another process a moment ago.
        views.invalidate(name)
        view = yield* views.get(name)
      }
      if (view === undefined) continue
      const { id } = view.run
      const known = view
      const outcomes = items.some((item) => isOdd(known, item))
        ? yield* insertMixed(id, items, now)
        : yield* insertQueued(id, items, now)
      if (outcomes === undefined) changes.changed(name)
      else {
        const before = written.get(known)
        written.set(known, {
          sequences: (before?.sequences ?? 0) + sequencesOf(items),
          bytes: (before?.bytes ?? 0) + bytesOf(items)
        })
        changes.counted(name)
      }
      if (outcomes !== undefined) return outcomes
    }
    return yield* new StoreError({
      message: `the run ${name} is being reset over and over`,
      isTransient: true,
      cause: undefined
    })
  })

  const attempt = (name: string, group: ReadonlyArray<Pending>) =>
    write(
      name,
      group.flatMap(({ items }) => items)
    ).pipe(
      Effect.retry({
        times: 4,
        schedule: Schedule.exponential("50 millis"),
        while: (error) => error._tag === "SqlError" && Failure.isWorthRepeating(error)
      }),
      Failure.orStoreError,
      Effect.exit,
      Effect.tap((exit) => Effect.sync(() => readiness.wrote(exit)))
    )

  const settle = (group: ReadonlyArray<Pending>, exit: Exit.Exit<ReadonlyArray<Outcome>, StoreError>): void => {
    let at = 0
    for (const pending of group) {
      const start = at
      at += pending.items.length
      waiting.delete(pending)
      waitingBytes -= pending.bytes
      waitingSequences -= sequencesOf(pending.items)
      const outcomes = Exit.map(exit, (outcomes) => outcomes.slice(start, at))
      Deferred.doneUnsafe(pending.outcomes, outcomes)
    }
  }

  const writeTogether = Effect.fnUntraced(function* (name: string, group: ReadonlyArray<Pending>) {
    const exit = yield* attempt(name, group)
    if (group.length === 1 || !isOfTheirs(exit)) return settle(group, exit)
    // One of them cannot be written: the others must not pay for it.
    for (const pending of group) settle([pending], yield* attempt(name, [pending]))
  })

  /** Runs apart, and no more bytes in one write than is good. */
  const portions = (all: ReadonlyArray<Pending>): ReadonlyArray<ReadonlyArray<Pending>> => {
    const portions: Array<Array<Pending>> = []
    const open = new Map<string, { bytes: number; readonly portion: Array<Pending> }>()
    for (const pending of all) {
      const current = open.get(pending.run)
      if (current !== undefined && current.bytes + pending.bytes <= mostBytes) {
        current.portion.push(pending)
        current.bytes += pending.bytes
        continue
      }
      const portion = [pending]
      portions.push(portion)
      open.set(pending.run, { bytes: pending.bytes, portion })
    }
    return portions
  }

  yield* Queue.takeBetween(queue, 1, mostSubmissions).pipe(
    Effect.flatMap((all) =>
      Effect.forEach(portions(all), (portion) => writeTogether(portion[0]!.run, portion), { discard: true })
    ),
    Effect.forever,
    Effect.forkScoped
  )
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      const error = new StoreError({ message: "the service is shutting down", isTransient: true, cause: undefined })
      for (const { outcomes } of waiting) Deferred.doneUnsafe(outcomes, Effect.fail(error))
    })
  )

  /** What waits by this view, with what was written since it was read. */
  const waitingBy = (view: RunView | undefined): Amount => {
    const since = view === undefined ? undefined : written.get(view)
    return (view?.queued ?? []).reduce(
      (sum, { bytes, groups, sequences }) => ({
        sequences: sum.sequences + groups * sequences,
        bytes: sum.bytes + bytes
      }),
      { sequences: waitingSequences + (since?.sequences ?? 0), bytes: waitingBytes + (since?.bytes ?? 0) }
    )
  }

  const isFull = ({ bytes, sequences }: Amount): boolean =>
    sequences >= settings.maxQueuedSequences || bytes >= settings.maxQueuedBytes

  const refuseWhenFull = Effect.fnUntraced(function* (name: string) {
    const { isCurrent, view } = yield* views.recent(name)
    if (!isFull(waitingBy(view))) return
    // What was claimed since that view is not in it.
    const { bytes, sequences } = waitingBy(isCurrent ? view : yield* views.get(name))
    if (!isFull({ bytes, sequences })) return
    return yield* new QueueFull({
      message: `the queue of run ${name} is full: ${sequences} sequences of at most ${settings.maxQueuedSequences}, ${bytes} bytes of at most ${settings.maxQueuedBytes}`,
      retryAfterSeconds: 2
    })
  })

  const submit: Submit["submit"] = Effect.fnUntraced(function* (run, submissions) {
    if (submissions.length === 0) return []
    yield* readiness.refuseWhenFull
    yield* Failure.orStoreError(refuseWhenFull(run))
    const items = yield* Effect.forEach(
      submissions,
      (submission) =>
        Effect.map(Codec.encode(submission.payload), (stored): Insert.Item => ({
          submission,
          stored,
          key: submission.key ?? Uuid.v7(),
          envColumn: Rows.toEnvColumn(submission.envId)
        })),
      { concurrency: "unbounded" }
    )
    const pending: Pending = {
      run,
      items,
      bytes: bytesOf(items),
      outcomes: yield* Deferred.make<ReadonlyArray<Outcome>, StoreError>()
    }
    waiting.add(pending)
    waitingBytes += pending.bytes
    waitingSequences += sequencesOf(items)
    Queue.offerUnsafe(queue, pending)
    return yield* Deferred.await(pending.outcomes)
  })
  return { submit }
})

const sequencesOf = (items: ReadonlyArray<Insert.Item>): number =>
  items.reduce((sum, { submission }) => sum + submission.sequences, 0)

const bytesOf = (items: ReadonlyArray<Insert.Item>): number =>
  items.reduce((sum, { stored }) => sum + stored.bytes.length, 0)
