/**
 * Follows the metrics of the selected runs: loads all recorded rows page by page, then each new row.
 *
 * Listeners are notified at most four times a second (once a second while runs load), on an animation frame, and not
 * while the page is hidden; they then read the tables. A run that failed to load can be retried, and is when the source
 * is reachable again; an interrupted event stream is only reported (`live`) and resumes by itself. If a trainer's steps
 * go back, another run may have taken the name, so everything is loaded again.
 */
import { type Source, SourceError, type Unwatch, type WatchState } from "../source/Source.ts"
import type * as Wire from "../source/Wire.ts"
import * as MetricTable from "./MetricTable.ts"

export interface RunState extends MetricTable.RunData {
  readonly phase: "loading" | "ready" | "failed"
  readonly loaded: number
  readonly error: SourceError | null
  readonly live: WatchState | "static"
}

export interface RunMetrics {
  /** Follows exactly these runs, in this order. */
  readonly choose: (names: ReadonlyArray<string>) => void
  readonly retry: (name: string) => void
  readonly subscribe: (listener: () => void) => () => void
  /** In the selected order; the same array until anything changes, including values. */
  readonly states: () => ReadonlyArray<RunState>
  /** Stable text while runs, sources and metrics are unchanged. */
  readonly shape: () => string
  readonly close: () => void
}

/** Keeps the page responsive while a long run loads: parsing 4,000 rows takes about 40 ms. */
const pageRows = 4000
const noticeMillis = 250
const loadingNoticeMillis = 1000

export interface Surroundings {
  readonly source: Source
  readonly onUnauthorized: () => void
  /** Schedules a callback for the next paint. */
  readonly onFrame: (run: () => void) => void
}

export const make = ({ onFrame, onUnauthorized, source }: Surroundings): RunMetrics => {
  const runs = new Map<string, FollowedRun>()
  const listeners = new Set<() => void>()
  let order: ReadonlyArray<string> = []
  // A run keeps its colour when others are added or removed.
  const tones = new Map<string, number>()
  let snapshot: ReadonlyArray<RunState> | null = null
  let shape: string | null = null
  const pause = () =>
    [...runs.values()].some((run) => run.state().phase === "loading") ? loadingNoticeMillis : noticeMillis
  const notice = throttled({
    run: () => {
      snapshot = null
      shape = null
      for (const listener of listeners) listener()
    },
    pause,
    onFrame
  })
  const retry = (name: string) => {
    runs.get(name)?.close()
    open(name)
    notice.now()
  }
  let returns = source.reach.returns()
  const unsubscribe = source.reach.subscribe(() => {
    if (source.reach.returns() === returns) return
    returns = source.reach.returns()
    for (const [name, run] of runs) if (run.state().error?.kind === "unreachable") retry(name)
  })
  const open = (name: string) =>
    runs.set(
      name,
      follow(source, name, notice, onUnauthorized, () => retry(name))
    )

  return {
    choose: (names) => {
      if (names.join("\n") === order.join("\n")) return
      order = names
      for (const [name, run] of runs) {
        if (names.includes(name)) continue
        run.close()
        runs.delete(name)
      }
      for (const name of tones.keys()) if (!names.includes(name)) tones.delete(name)
      for (const name of names) {
        if (!tones.has(name)) tones.set(name, leastFree(new Set(tones.values())))
        if (!runs.has(name)) open(name)
      }
      notice.now()
    },
    retry,
    subscribe: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    states: () =>
      (snapshot ??= order.flatMap((name) => {
        const run = runs.get(name)
        return run === undefined ? [] : [{ ...run.state(), tone: tones.get(name)! }]
      })),
    shape: () =>
      (shape ??= order
        .map((name) => {
          const run = runs.get(name)?.state()
          return run === undefined
            ? name
            : [name, run.phase, run.error?.message, shapeOf(run.table), MetricTable.isCurve(run.watched)].join("\n")
        })
        .join("\n\n")),
    close: () => {
      unsubscribe()
      notice.cancel()
      for (const run of runs.values()) run.close()
      runs.clear()
      tones.clear()
      order = []
      snapshot = null
      shape = null
    }
  }
}

const leastFree = (taken: ReadonlySet<number>): number => {
  let tone = 0
  while (taken.has(tone)) tone++
  return tone
}

const shapeOf = (table: MetricTable.MetricTable): string =>
  table
    .names()
    .map((name) => `${name} ${table.sourcesOf(name).join(" ")}`)
    .join("\n")

interface FollowedRun {
  readonly state: () => Omit<RunState, "tone">
  readonly close: () => void
}

const follow = (
  source: Source,
  name: string,
  notice: Notice,
  onUnauthorized: () => void,
  onBack: () => void
): FollowedRun => {
  const abort = new AbortController()
  const table = MetricTable.make()
  const watched = MetricTable.make()
  const unwatch: Array<Unwatch> = []
  let phase: RunState["phase"] = "loading"
  let loaded = 0
  let error: SourceError | null = null
  let live: RunState["live"] = source.isLive ? "connecting" : "static"
  let step = Number.NEGATIVE_INFINITY

  /** True if the trainer's steps go back in these next rows. */
  const goBack = (rows: ReadonlyArray<Wire.MetricsRow>): boolean => {
    let goes = false
    for (const row of rows) {
      if (row.source !== "trainer") continue
      goes ||= row.step < step
      step = row.step
    }
    return goes
  }

  const load = async (): Promise<string | null> => {
    let after: string | null = null
    for (;;) {
      const { metrics, next } = await source.metrics(
        name,
        after === null ? { limit: pageRows } : { after, limit: pageRows },
        abort.signal
      )
      table.add(metrics)
      goBack(metrics)
      // The first rows are shown as soon as possible.
      if (loaded === 0) notice.soon()
      else notice.request()
      loaded += metrics.length
      after = metrics.at(-1)?.id ?? after
      if (next === null) return after
      after = next
    }
  }

  const watch = (after: string | null) => {
    unwatch.push(
      source.watchMetrics(name, after, {
        onEvent: (rows) => {
          if (goBack(rows)) return onBack()
          table.add(rows)
          notice.request()
        },
        onState: (state, problem) => {
          if (problem?.kind === "unauthorized") onUnauthorized()
          live = state
          notice.request()
        }
      }),
      source.watchSummary(name, {
        onEvent: ({ buffered_groups, current_step, formed_batches, queued_groups }) => {
          const values = {
            "queue/groups": queued_groups,
            "queue/buffered": buffered_groups,
            "queue/batches": formed_batches
          }
          watched.add([{ source: "queue", step: current_step, at: Date.now(), values }])
          notice.request()
        }
      })
    )
  }

  load().then(
    (after) => {
      if (abort.signal.aborted) return
      phase = "ready"
      if (source.isLive) watch(after)
      notice.soon()
    },
    (cause: unknown) => {
      if (abort.signal.aborted) return
      phase = "failed"
      error = cause instanceof SourceError ? cause : new SourceError("failed", String(cause))
      if (error.kind === "unauthorized") onUnauthorized()
      notice.soon()
    }
  )

  return {
    state: () => ({ name, table, watched, phase, loaded, error, live }),
    close: () => {
      abort.abort()
      for (const end of unwatch) end()
    }
  }
}

interface Throttled {
  readonly run: () => void
  readonly pause: () => number
  readonly onFrame: Surroundings["onFrame"]
}

interface Notice {
  /** On a frame after the pause, once for all requests until then. */
  readonly request: () => void
  readonly soon: () => void
  readonly now: () => void
  readonly cancel: () => void
}

const throttled = ({ onFrame, pause, run }: Throttled): Notice => {
  let last = Number.NEGATIVE_INFINITY
  let waiting: object | null = null
  const now = () => {
    waiting = null
    last = performance.now()
    run()
  }
  const onTurn = (turn: object) => () => {
    if (waiting === turn) now()
  }
  return {
    request: () => {
      if (waiting !== null) return
      const turn = (waiting = {})
      setTimeout(() => onFrame(onTurn(turn)), Math.max(0, last + pause() - performance.now()))
    },
    soon: () => onFrame(onTurn((waiting = {}))),
    now,
    cancel: () => {
      waiting = null
    }
  }
}
