/**
 * Caches the state of runs: row, environments, queue counts and open batches, read in one statement. This process's
 * writes invalidate it immediately; those of others with a notification, or when the view expires.
 *
 * Submissions and claims only change counts, hundreds of times a second. Callers that need counts only roughly use a
 * `recent` view, which does not reload for them.
 */
import { Clock, Deferred, Duration, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { type RegisteredEnvironment, UnknownEnvironment, UnknownRun } from "../../store/TrajectoryStore.ts"
import * as Rows from "./Rows.ts"
import type { Settings } from "./Settings.ts"
import type { QueueView } from "./Status.ts"

/** Work in progress of an environment silent for this long no longer counts. Environments report every 5 seconds. */
export const silenceMillis = 30_000

export interface RunView extends QueueView {
  /** Expiry of each open batch's lease; null if it is free. */
  readonly leases: ReadonlyArray<number | null>
  readonly hasBuffered: boolean
}

export interface RunStateCache {
  /** The current run of that name; undefined if none. */
  readonly get: (name: string) => Effect.Effect<RunView | undefined, SqlError>
  /** Like `get`, but queue counts, leases and the number of batches may be slightly stale unless `isCurrent`. */
  readonly recent: (name: string) => Effect.Effect<Recent, SqlError>
  readonly invalidate: (name: string) => void
  /** Invalidates its counts, leases and number of batches. */
  readonly invalidateCounts: (name: string) => void
  readonly invalidateAll: () => void
}

export interface Recent {
  readonly view: RunView | undefined
  readonly isCurrent: boolean
}

/** The view of a run; fails if it is unknown. */
export const viewOf = (runStates: RunStateCache, name: string): Effect.Effect<RunView, SqlError | UnknownRun> =>
  runStates.get(name).pipe(
    Effect.filterOrFail(
      (view) => view !== undefined,
      () => new UnknownRun({ run: name })
    )
  )

/** An environment and the view of its run; fails if either is unknown. */
export const environmentOf = Effect.fnUntraced(function* (
  runStates: RunStateCache,
  name: string,
  envId: number
): Effect.fn.Return<
  { readonly view: RunView; readonly environment: RegisteredEnvironment },
  SqlError | UnknownEnvironment
> {
  const unknown = new UnknownEnvironment({ run: name, envId })
  const view = yield* viewOf(runStates, name).pipe(Effect.catchTag("UnknownRun", () => Effect.fail(unknown)))
  const environment = view.environments[envId]
  if (environment !== undefined) return { view, environment }
  // It may just have registered with another process.
  runStates.invalidate(name)
  const fresh = yield* runStates.get(name)
  const registered = fresh?.environments[envId]
  return fresh === undefined || registered === undefined ? yield* unknown : { view: fresh, environment: registered }
})

interface Loaded {
  readonly version: number
  readonly structure: number
  readonly at: number
  readonly view: RunView | undefined
}

interface Entry {
  /** Incremented on every change. */
  version: number
  /** Incremented on every change except those of counts. */
  structure: number
  loaded: Loaded | undefined
  loading: { readonly version: number; readonly result: Deferred.Deferred<RunView | undefined, SqlError> } | undefined
}

interface ViewRow {
  readonly view: {
    readonly run: Rows.RunJson
    readonly environments: ReadonlyArray<Rows.EnvironmentJson> | null
    readonly queued: ReadonlyArray<{ env_id: number; sequences: number; groups: number; bytes: number }> | null
    readonly leases: ReadonlyArray<number | null> | null
    readonly has_buffered: boolean
    readonly ahead: { readonly untrained: number; readonly under_way: number } | null
  }
}

const outdate = (entry: Entry): void => {
  entry.version++
  entry.structure++
}

export const make = Effect.fnUntraced(function* (
  settings: Settings
): Effect.fn.Return<RunStateCache, never, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient
  const lifetime = Duration.toMillis(settings.viewLifetime)
  const entries = new Map<string, Entry>()

  const load = Effect.fnUntraced(function* (name: string, now: number) {
    const [row] = yield* sql<ViewRow>`
      select json_build_object(
        'run', to_json(run),
        'environments', (select json_agg(env order by env_id) from env where run_id = run.id),
        'queued', (select json_agg(queued) from queued where run_id = run.id and groups > 0),
        'leases', (
          select json_agg(extract(epoch from lease_until) * 1000) from batch where run_id = run.id and acked_at is null
        ),
        'has_buffered', exists (select from grp where run_id = run.id and place is null),
        'ahead', case when run.wait_at_staleness is not null then json_build_object(
          'untrained', (select count(*) from batch where run_id = run.id and acked_at is null and not is_trained),
          'under_way', (
            select coalesce(sum(under_way * group_size), 0) from env
            where run_id = run.id and is_connected and last_seen >= ${new Date(now - silenceMillis)}
          )
        ) end
      ) as view
      from run where name = ${name} and ended_at is null`
    if (row === undefined) return undefined
    const { ahead, environments, has_buffered, leases, queued, run } = row.view
    return {
      run: Rows.toRun(run),
      environments: (environments ?? []).map(Rows.toEnvironment),
      queued: (queued ?? []).map(({ bytes, env_id, groups, sequences }) => ({
        envId: Rows.fromEnvColumn(env_id),
        sequences,
        groups,
        bytes
      })),
      leases: leases ?? [],
      hasBuffered: has_buffered,
      ahead: { untrained: ahead?.untrained ?? 0, underWay: ahead?.under_way ?? 0 }
    }
  })

  const entryOf = (name: string): Entry => {
    const existing = entries.get(name)
    if (existing !== undefined) return existing
    const entry: Entry = { version: 0, structure: 0, loaded: undefined, loading: undefined }
    entries.set(name, entry)
    return entry
  }

  const get = Effect.fnUntraced(function* (name: string) {
    const entry = entryOf(name)
    const now = yield* Clock.currentTimeMillis
    const { loaded, loading, structure, version } = entry
    if (loaded !== undefined && loaded.version === version && now - loaded.at < lifetime) return loaded.view
    if (loading !== undefined && loading.version === version) return yield* Deferred.await(loading.result)
    const result = yield* Deferred.make<RunView | undefined, SqlError>()
    entry.loading = { version, result }
    // Detached: the first caller may be interrupted while others wait for the same result.
    yield* load(name, now).pipe(
      Effect.tap((view) =>
        Effect.sync(() => {
          entry.loaded = { version, structure, at: now, view }
          // Names of unknown runs must not accumulate.
          if (view === undefined && entry.version === version) entries.delete(name)
        })
      ),
      Effect.exit,
      Effect.tap((exit) =>
        Effect.sync(() => {
          if (entry.loading?.result === result) entry.loading = undefined
          Deferred.doneUnsafe(result, exit)
        })
      ),
      Effect.forkDetach({ startImmediately: true })
    )
    return yield* Deferred.await(result)
  })

  const recent = Effect.fnUntraced(function* (name: string) {
    const { loaded, structure, version } = entryOf(name)
    const now = yield* Clock.currentTimeMillis
    return loaded !== undefined && loaded.structure === structure && now - loaded.at < lifetime
      ? { view: loaded.view, isCurrent: loaded.version === version }
      : { view: yield* get(name), isCurrent: true }
  })

  return {
    get,
    recent,
    invalidate: (name) => {
      const entry = entries.get(name)
      if (entry !== undefined) outdate(entry)
    },
    invalidateCounts: (name) => {
      const entry = entries.get(name)
      if (entry !== undefined) entry.version++
    },
    invalidateAll: () => {
      for (const entry of entries.values()) outdate(entry)
    }
  }
})
