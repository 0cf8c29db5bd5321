/**
 * Submissions, written together: what arrives while a write is under way goes into the next one, one statement for all, so that
 * durability costs one flush per write and not per group.
 *
 * Groups of the size their environment registered, and those of unknown environments, go into the queue. Others go into their
 * environment's buffer until some of them add up to its group size (`Packing.findGroups`), as in the original.
 */
import { Packing, type TrajectoryClient } from "@atropos/core"
import { Clock, Deferred, Effect, Queue, Schedule, type Scope } from "effect"
import * as SecureRandom from "effect/crypto/SecureRandom"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { QueueFull, StoreError, type Submission } from "../../TrajectoryStore.ts"
import type { Changes } from "./Changes.ts"
import * as Codec from "./Codec.ts"
import * as Failure from "./Failure.ts"
import type { PayloadCache } from "./PayloadCache.ts"
import * as Rows from "./Rows.ts"
import type { StoreSettings } from "./Settings.ts"
import type { RunView, Views } from "./Views.ts"

type Outcome = TrajectoryClient.SubmitOutcome

interface Item {
  readonly submission: Submission
  readonly stored: Codec.Stored
  /** The sender's key, or one of our own, so that a write can be repeated after a lost connection. */
  readonly key: string
  readonly envColumn: number
}

interface Pending {
  readonly run: string
  readonly items: ReadonlyArray<Item>
  readonly bytes: number
  readonly outcomes: Deferred.Deferred<ReadonlyArray<Outcome>, StoreError>
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

const received: Outcome = { status: "received" }
const duplicate: Outcome = { status: "duplicate" }

const mean = (scores: ReadonlyArray<number>): number | null =>
  scores.length === 0 ? null : scores.reduce((sum, score) => sum + score, 0) / scores.length

/** The columns of the rows to insert, as arrays. */
const columns = (items: ReadonlyArray<Item>) => ({
  env: Rows.array(
    "int4",
    items.map(({ envColumn }) => envColumn)
  ),
  sequences: Rows.array(
    "int4",
    items.map(({ submission }) => submission.sequences)
  ),
  tokens: Rows.array(
    "int8",
    items.map(({ submission }) => BigInt(submission.tokens))
  ),
  // Arrays of arrays must be rectangular: each as its text.
  scores: Rows.array(
    "text",
    items.map(({ submission }) => `{${submission.scores.join(",")}}`)
  ),
  means: Rows.array(
    "float8",
    items.map(({ submission }) => mean(submission.scores))
  ),
  policySteps: Rows.array(
    "int8",
    items.map(({ submission }) => (submission.policyStep === null ? null : BigInt(submission.policyStep)))
  ),
  keys: Rows.array(
    "uuid",
    items.map(({ key }) => key)
  ),
  encodings: Rows.array(
    "int2",
    items.map(({ stored }) => stored.encoding)
  ),
  payloads: Rows.array(
    "bytea",
    items.map(({ stored }) => stored.bytes)
  )
})

/** What a group waiting in its environment's buffer is to the rule that combines them. */
interface Buffered {
  readonly id: bigint
  readonly sequences: number
}

export const make = Effect.fnUntraced(function* (
  settings: StoreSettings,
  views: Views,
  changes: Changes,
  cache: PayloadCache
): Effect.fn.Return<Submit, never, SqlClient.SqlClient | Scope.Scope> {
  const sql = yield* SqlClient.SqlClient
  const queue = yield* Queue.unbounded<Pending>()
  const waiting = new Set<Pending>()
  let waitingBytes = 0
  let waitingSequences = 0

  const park = (name: string, now: Date) => sql`
    insert into run (
      name, created_at, is_registered, batch_size, max_token_length, starting_step, num_steps, checkpoint_dir,
      save_checkpoint_interval, wandb_group, wandb_project
    ) values (${name}, ${now}, false, -1, -1, 0, -1, '', -1, '', '')
    on conflict (name) where ended_at is null do nothing`

  const currentView = Effect.fnUntraced(function* (name: string, now: Date) {
    const view = yield* views.get(name)
    if (view !== undefined) return view
    yield* park(name, now)
    views.invalidate(name)
    return yield* views.get(name)
  })

  /** All groups go straight into the queue: one statement. Undefined where the run has ended meanwhile. */
  const insertQueued = Effect.fnUntraced(function* (runId: number, items: ReadonlyArray<Item>, now: Date) {
    const given = columns(items)
    const rows = yield* sql<{ id: bigint; is_stored: boolean; is_current: boolean }>`
      with input as materialized (
        select nextval('grp_order') as id, i.*
        from unnest(
          ${given.env}::int[], ${given.sequences}::int[], ${given.tokens}::bigint[], ${given.scores}::text[],
          ${given.means}::float8[], ${given.policySteps}::bigint[], ${given.keys}::uuid[], ${given.encodings}::smallint[],
          ${given.payloads}::bytea[]
        ) with ordinality
          as i (env_id, sequences, tokens, scores, score_mean, policy_step, submit_key, encoding, payload, position)
      ), stored as (
        insert into grp (
          id, run_id, env_id, sequences, tokens, scores, score_mean, policy_step, submit_key, place, encoding, payload,
          created_at
        )
        select id, ${runId}, env_id, sequences, tokens, scores::float8[], score_mean, policy_step, submit_key, id, encoding,
          payload, ${now}
        from input
        where exists (select from run where run.id = ${runId} and ended_at is null)
          and not exists (select from spent_key where spent_key.submit_key = input.submit_key)
        order by position
        on conflict (submit_key) do nothing
        returning id, env_id, sequences, octet_length(payload) as bytes
      ), counted as (
        insert into queued (run_id, env_id, sequences, groups, bytes)
        select ${runId}, env_id, sequences, count(*), sum(bytes) from stored
        group by env_id, sequences order by env_id, sequences
        on conflict (run_id, env_id, sequences)
        do update set groups = queued.groups + excluded.groups, bytes = queued.bytes + excluded.bytes
      )
      select input.id, stored.id is not null as is_stored,
        (select ended_at is null from run where run.id = ${runId}) as is_current
      from input left join stored using (id) order by position`
    if (rows.length > 0 && !rows[0]!.is_current) return undefined
    return rows.map(({ id, is_stored }, i): Outcome => {
      if (!is_stored) return duplicate
      cache.add(String(id), items[i]!.submission.payload)
      return received
    })
  })

  /** Some groups are of odd sizes: their environments' rows are locked, and each group goes to the buffer or the queue in turn. */
  const insertMixed = Effect.fnUntraced(function* (
    runId: number,
    items: ReadonlyArray<Item>,
    now: Date
  ): Effect.fn.Return<ReadonlyArray<Outcome> | undefined, SqlError> {
    const envs = Rows.array("int4", [...new Set(items.map(({ envColumn }) => envColumn))])
    const locked = yield* sql<{ env_id: number; group_size: number }>`
      select env_id, group_size from env where run_id = ${runId} and env_id = any(${envs}::int[])
      order by env_id for no key update`
    const wanted = new Map(locked.map(({ env_id, group_size }) => [env_id, group_size]))
    const buffers = new Map<number, Array<Buffered>>(locked.map(({ env_id }) => [env_id, []]))
    const waitingRows = yield* sql<Buffered & { readonly env_id: number }>`
      select id, env_id, sequences from grp
      where run_id = ${runId} and env_id = any(${envs}::int[]) and place is null order by id`
    for (const { env_id, id, sequences } of waitingRows) buffers.get(env_id)?.push({ id, sequences })

    const keys = Rows.array(
      "uuid",
      items.map(({ key }) => key)
    )
    const known = yield* sql<{ submit_key: string }>`
      select submit_key from grp where submit_key = any(${keys}::uuid[])
      union all select submit_key from spent_key where submit_key = any(${keys}::uuid[])`
    const spent = new Set(known.map(({ submit_key }) => submit_key))
    const fresh = items.filter(({ key }) => {
      const isNew = !spent.has(key.toLowerCase())
      spent.add(key.toLowerCase())
      return isNew
    })
    const orders = yield* sql<{ id: bigint }>`
      select nextval('grp_order') as id from generate_series(1, ${fresh.length}::int)`

    // Where each group ends up, as the original decides one after the other.
    const outcomes = new Map<Item, Outcome>()
    const entering: Array<bigint> = []
    for (const [i, item] of fresh.entries()) {
      const { id } = orders[i]!
      const want = wanted.get(item.envColumn)
      const { sequences } = item.submission
      if (want === undefined || want === sequences) {
        entering.push(id)
        outcomes.set(item, received)
        continue
      }
      const buffer = buffers.get(item.envColumn)!
      buffer.push({ id, sequences })
      const found = Packing.findGroups(
        buffer.map(({ sequences }) => sequences),
        want
      )
      entering.push(...found.map((position) => buffer[position]!.id))
      const left = buffer.filter((_, position) => !found.includes(position))
      buffers.set(item.envColumn, left)
      outcomes.set(item, { status: "buffered", bufferSize: left.reduce((sum, { sequences }) => sum + sequences, 0) })
    }

    const given = columns(fresh)
    const ids = Rows.array(
      "int8",
      orders.map(({ id }) => id)
    )
    const [inserted] = yield* sql<{ count: number; is_current: boolean }>`
      with stored as (
        insert into grp (
          id, run_id, env_id, sequences, tokens, scores, score_mean, policy_step, submit_key, encoding, payload, created_at
        )
        select id, ${runId}, env_id, sequences, tokens, scores::float8[], score_mean, policy_step, submit_key, encoding,
          payload, ${now}
        from unnest(
          ${ids}::bigint[], ${given.env}::int[], ${given.sequences}::int[], ${given.tokens}::bigint[],
          ${given.scores}::text[], ${given.means}::float8[], ${given.policySteps}::bigint[], ${given.keys}::uuid[],
          ${given.encodings}::smallint[], ${given.payloads}::bytea[]
        ) as i (id, env_id, sequences, tokens, scores, score_mean, policy_step, submit_key, encoding, payload)
        where exists (select from run where run.id = ${runId} and ended_at is null)
        returning 1
      )
      select count(*)::int as count, (select ended_at is null from run where run.id = ${runId}) as is_current from stored`
    if (inserted?.is_current !== true) return undefined
    yield* enqueue(runId, entering)
    for (const [i, item] of fresh.entries()) cache.add(String(orders[i]!.id), item.submission.payload)
    return items.map((item) => outcomes.get(item) ?? duplicate)
  })

  /** Buffered groups enter the queue in the order given. */
  const enqueue = (runId: number, ids: ReadonlyArray<bigint>) => sql`
    with placed as (
      update grp set place = entering.place
      from (
        select id, nextval('grp_order') as place
        from (select id from unnest(${Rows.array("int8", ids)}::bigint[]) with ordinality as i (id, position)
          order by position) as given
      ) as entering
      where grp.id = entering.id
      returning grp.env_id, grp.sequences, octet_length(grp.payload) as bytes
    )
    insert into queued (run_id, env_id, sequences, groups, bytes)
    select ${runId}, env_id, sequences, count(*), sum(bytes) from placed
    group by env_id, sequences order by env_id, sequences
    on conflict (run_id, env_id, sequences)
    do update set groups = queued.groups + excluded.groups, bytes = queued.bytes + excluded.bytes`

  const isOdd = (view: RunView, { envColumn, submission }: Item): boolean => {
    const environment = envColumn < 0 ? undefined : view.environments[envColumn]
    return environment !== undefined && environment.groupSize !== submission.sequences
  }

  const write = Effect.fnUntraced(function* (
    name: string,
    items: ReadonlyArray<Item>
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
        ? yield* sql.withTransaction(insertMixed(id, items, now))
        : yield* insertQueued(id, items, now)
      changes.changed(name)
      if (outcomes !== undefined) return outcomes
    }
    return yield* new StoreError({
      message: `the run ${name} is being reset over and over`,
      isTransient: true,
      cause: undefined
    })
  })

  const writeTogether = Effect.fnUntraced(function* (name: string, group: ReadonlyArray<Pending>) {
    const items = group.flatMap(({ items }) => items)
    const exit = yield* write(name, items).pipe(
      Effect.retry({
        times: 4,
        schedule: Schedule.exponential("50 millis"),
        while: (error) => error._tag === "SqlError" && error.isRetryable
      }),
      Failure.orStoreError,
      Effect.result
    )
    let at = 0
    for (const pending of group) {
      const start = at
      at += pending.items.length
      waiting.delete(pending)
      waitingBytes -= pending.bytes
      waitingSequences -= sequencesOf(pending.items)
      if (exit._tag === "Failure") Deferred.doneUnsafe(pending.outcomes, Effect.fail(exit.failure))
      else Deferred.doneUnsafe(pending.outcomes, Effect.succeed(exit.success.slice(start, at)))
    }
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
    Effect.flatMap((all) => Effect.forEach(portions(all), (portion) => writeTogether(portion[0]!.run, portion), { discard: true })),
    Effect.forever,
    Effect.forkScoped
  )
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      const error = new StoreError({ message: "the service is shutting down", isTransient: true, cause: undefined })
      for (const { outcomes } of waiting) Deferred.doneUnsafe(outcomes, Effect.fail(error))
    })
  )

  const refuseWhenFull = Effect.fnUntraced(function* (name: string) {
    const view = yield* views.get(name)
    const queued = view?.queued ?? []
    const sequences = queued.reduce((sum, { groups, sequences }) => sum + groups * sequences, waitingSequences)
    const bytes = queued.reduce((sum, { bytes }) => sum + bytes, waitingBytes)
    if (sequences < settings.maxQueuedSequences && bytes < settings.maxQueuedBytes) return
    return yield* new QueueFull({
      message: `the queue of run ${name} is full: ${sequences} sequences of at most ${settings.maxQueuedSequences}, ${bytes} bytes of at most ${settings.maxQueuedBytes}`,
      retryAfterSeconds: 2
    })
  })

  const submit: Submit["submit"] = Effect.fnUntraced(function* (run, submissions) {
    if (submissions.length === 0) return []
    yield* Failure.orStoreError(refuseWhenFull(run))
    const items = yield* Effect.forEach(
      submissions,
      (submission) =>
        Effect.map(
          Codec.encode(submission.payload),
          (stored): Item => ({
            submission,
            stored,
            key: submission.key ?? SecureRandom.uuidV7Unsafe(),
            envColumn: Rows.toEnvColumn(submission.envId)
          })
        ),
      { concurrency: "unbounded" }
    )
    const pending: Pending = {
      run,
      items,
      bytes: items.reduce((sum, { stored }) => sum + stored.bytes.length, 0),
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

const sequencesOf = (items: ReadonlyArray<Item>): number =>
  items.reduce((sum, { submission }) => sum + submission.sequences, 0)
