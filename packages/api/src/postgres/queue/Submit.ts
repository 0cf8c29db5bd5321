/**
 * Batches submissions: those arriving during a write go into the next one, in a single statement, so that durability
 * costs one flush per write instead of per group.
 */
import { type TrajectoryApi, type TrajectoryApiError, Uuid } from "@atropos/core"
import { Cause, Deferred, Effect, Exit, Queue, Schedule, type Scope } from "effect"
import type { SqlClient } from "effect/sql"
import { StoreError, type Submission } from "../../store/TrajectoryStore.ts"
import type { Notifications } from "../base/Notifications.ts"
import * as Codec from "../base/Codec.ts"
import * as Failure from "../base/Failure.ts"
import type { Item } from "./InsertColumns.ts"
import * as Insert from "./Insert.ts"
import type { Objects } from "../base/Objects.ts"
import * as QueueBound from "./QueueBound.ts"
import type { PayloadCache } from "../base/PayloadCache.ts"
import type { Readiness } from "../base/Readiness.ts"
import * as Rows from "../base/Rows.ts"
import type { Settings } from "../base/Settings.ts"
import type { RunStateCache } from "../base/RunStateCache.ts"

type Outcome = TrajectoryApi.SubmitOutcome

interface Pending {
  readonly run: string
  readonly items: ReadonlyArray<Item>
  readonly amount: QueueBound.Amount
  readonly outcomes: Deferred.Deferred<ReadonlyArray<Outcome>, StoreError>
}

export interface Submit {
  readonly submit: (
    run: string,
    submissions: ReadonlyArray<Submission>
  ) => Effect.Effect<ReadonlyArray<Outcome>, StoreError | TrajectoryApiError.QueueFull>
}

// Limits of one write; larger ones would delay others and take memory.
const maxBytes = 8 * 1024 ** 2
const maxSubmissions = 256

/** Returns true if the content caused the failure, rather than the state of the database. */
const isOfTheirs = (exit: Exit.Exit<unknown, StoreError>): boolean =>
  Exit.isFailure(exit) && exit.cause.reasons.some((reason) => !Cause.isFailReason(reason) || !reason.error.isTransient)

const portions = (all: ReadonlyArray<Pending>): ReadonlyArray<ReadonlyArray<Pending>> => {
  const portions: Array<Array<Pending>> = []
  const open = new Map<string, { bytes: number; readonly portion: Array<Pending> }>()
  for (const pending of all) {
    const current = open.get(pending.run)
    if (current !== undefined && current.bytes + pending.amount.bytes <= maxBytes) {
      current.portion.push(pending)
      current.bytes += pending.amount.bytes
      continue
    }
    const portion = [pending]
    portions.push(portion)
    open.set(pending.run, { bytes: pending.amount.bytes, portion })
  }
  return portions
}

export const make = Effect.fnUntraced(function* (
  settings: Settings,
  runStates: RunStateCache,
  notifications: Notifications,
  cache: PayloadCache,
  readiness: Pick<Readiness, "refuseWhenFull" | "wrote">,
  objects: Objects
): Effect.fn.Return<Submit, never, SqlClient.SqlClient | Scope.Scope> {
  const bound = QueueBound.make(settings, runStates)
  const write = yield* Insert.make(runStates, notifications, cache, bound)
  const queue = yield* Queue.unbounded<Pending>()
  const waiting = new Set<Pending>()

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
      bound.removePending(pending.amount)
      const outcomes = Exit.map(exit, (outcomes) => outcomes.slice(start, at))
      Deferred.doneUnsafe(pending.outcomes, outcomes)
    }
  }

  const writeTogether = Effect.fnUntraced(function* (name: string, group: ReadonlyArray<Pending>) {
    const exit = yield* attempt(name, group)
    if (group.length === 1 || !isOfTheirs(exit)) return settle(group, exit)
    // One of them cannot be written: retried separately, so that the others succeed.
    for (const pending of group) settle([pending], yield* attempt(name, [pending]))
  })

  yield* Queue.takeBetween(queue, 1, maxSubmissions).pipe(
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

  const submit: Submit["submit"] = Effect.fnUntraced(function* (run, submissions) {
    if (submissions.length === 0) return []
    yield* readiness.refuseWhenFull
    yield* Failure.orStoreError(bound.refuseWhenFull(run))
    const items = yield* Effect.forEach(
      submissions,
      (submission) =>
        Codec.encode(submission.payload).pipe(
          Effect.flatMap(objects.outsource),
          Effect.map((stored): Item => ({
            submission,
            stored,
            key: submission.key ?? Uuid.v7(),
            envColumn: Rows.toEnvColumn(submission.envId)
          }))
        ),
      { concurrency: "unbounded" }
    ).pipe(Failure.orStoreError)
    const pending: Pending = {
      run,
      items,
      amount: QueueBound.amountOf(items),
      outcomes: yield* Deferred.make<ReadonlyArray<Outcome>, StoreError>()
    }
    waiting.add(pending)
    bound.addPending(pending.amount)
    Queue.offerUnsafe(queue, pending)
    return yield* Deferred.await(pending.outcomes)
  })
  return { submit }
})
