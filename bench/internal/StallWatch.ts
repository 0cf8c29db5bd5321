/**
 * Attributes event-loop delays to their cause; loaded into the service by the soak (`--import`).
 *
 * A 5 ms timer reads the wall clock, the processor time of this thread, the time it was ready without a core (the
 * kernel's `schedstat`, Linux), and the garbage collector's pauses. The span between two readings is one turn of the
 * loop; its excess over the timer's 5 ms is the stall. A span's time consists of our own work (processor time outside
 * of pauses), pauses, time without a core, and idle waiting.
 *
 * Every turn longer than 20 ms is logged to `ATROPOS_STALL_LOG` as a JSON line; every ten seconds a line has the number
 * of turns and the quantiles of each kind, in milliseconds. The opening of a port is a separate line.
 */
import { subscribe } from "node:diagnostics_channel"
import { appendFileSync, openSync, readSync } from "node:fs"
import { constants, type PerformanceEntry, PerformanceObserver, performance } from "node:perf_hooks"
import { setInterval } from "node:timers"
import { isMainThread } from "node:worker_threads"

/** One turn of the loop, milliseconds. */
export interface Turn {
  /** Since the process started. */
  readonly at: number
  readonly wall: number
  /** Processor time of the thread outside of pauses. */
  readonly own: number
  /** Pauses of the garbage collector, wall clock. */
  readonly pause: number
  /** Ready, without a core. */
  readonly waiting: number
  /** Longest single pause, and its kind. */
  readonly collector: string
}

/** Ten seconds of turns: milliseconds by kind. */
export interface Span {
  readonly turns: number
  readonly p99: { readonly [kind in Kind]: number }
  readonly worst: { readonly [kind in Kind]: number }
  /** Shares of the wall clock. */
  readonly share: { readonly [kind in Kind]: number }
}

/** A port was opened; earlier stalls affect no client. */
export interface Opening {
  /** Milliseconds since the process started. */
  readonly listeningAt: number
}

export const kinds = ["wall", "own", "pause", "waiting"] as const
export const meaning: { readonly [kind in Kind]: string } = {
  wall: "a turn of the event loop",
  own: "  of that, our own work (processor time)",
  pause: "  pauses of the garbage collector",
  waiting: "  ready to run, and no core free"
}
export type Kind = (typeof kinds)[number]

const resolution = 5
const longMillis = 20
const spanMillis = 10_000

interface Pause {
  readonly start: number
  readonly duration: number
  readonly kind: number
}

const kindNames: { readonly [kind: number]: string } = {
  [constants.NODE_PERFORMANCE_GC_MAJOR]: "major",
  [constants.NODE_PERFORMANCE_GC_MINOR]: "minor",
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: "incremental",
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: "weak callbacks"
}

const openSchedule = (): number | undefined => {
  try {
    return openSync("/proc/thread-self/schedstat", "r")
  } catch {
    // Not Linux: time without a core then counts as idle.
    return undefined
  }
}

const busy = (): number => {
  const { system, user } = process.threadCpuUsage()
  return (system + user) / 1000
}

/** Collector entries have it; the general type of entries does not. */
const kindOf = (entry: PerformanceEntry): number =>
  "detail" in entry && typeof entry.detail === "object" && entry.detail !== null && "kind" in entry.detail
    ? Number(entry.detail.kind)
    : 0

const watch = (path: string): void => {
  const schedule = openSchedule()
  const text = Buffer.alloc(128)
  const waited = (): number => {
    if (schedule === undefined) return 0
    const length = readSync(schedule, text, 0, text.length, 0)
    return Number(text.toString("latin1", 0, length).split(" ")[1]) / 1e6
  }
  subscribe("tracing:net.server.listen:asyncEnd", () => {
    appendFileSync(path, `${JSON.stringify({ listeningAt: performance.now() } satisfies Opening)}\n`)
  })
  let pauses: Array<Pause> = []
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      pauses.push({ start: entry.startTime, duration: entry.duration, kind: kindOf(entry) })
    }
  }).observe({ entryTypes: ["gc"] })

  // Pauses are reported after their turn, so turns are kept until the next reading.
  let turns: Array<Omit<Turn, "own" | "pause" | "collector"> & { readonly busy: number }> = []
  let last = { at: performance.now(), busy: busy(), waited: waited() }
  setInterval(() => {
    const now = { at: performance.now(), busy: busy(), waited: waited() }
    turns.push({
      at: now.at,
      wall: now.at - last.at,
      busy: now.busy - last.busy,
      waiting: now.waited - last.waited
    })
    last = now
  }, resolution)

  const describe = ({ at, busy, waiting, wall }: (typeof turns)[number], found: ReadonlyArray<Pause>): Turn => {
    const pause = found.reduce((sum, { duration }) => sum + duration, 0)
    const longest = found.reduce<Pause | undefined>(
      (a, b) => (a === undefined || b.duration > a.duration ? b : a),
      undefined
    )
    return {
      at,
      wall,
      pause,
      own: Math.max(0, busy - pause),
      waiting,
      collector:
        longest === undefined ? "" : `${kindNames[longest.kind] ?? longest.kind} ${longest.duration.toFixed(1)}`
    }
  }

  setInterval(() => {
    const seen = pauses
    pauses = []
    let from = 0
    const described = turns.map((turn) => {
      const begin = from
      while (from < seen.length && seen[from]!.start <= turn.at) from++
      return describe(turn, seen.slice(begin, from))
    })
    turns = []
    const total = described.reduce((sum, { wall }) => sum + wall, 0)
    const by = (value: (sorted: Float64Array) => number) =>
      Object.fromEntries(
        kinds.map((kind) => [kind, value(Float64Array.from(described, (turn) => turn[kind]).toSorted())])
      )
    const span = {
      turns: described.length,
      p99: by((sorted) => sorted[Math.floor(sorted.length * 0.99)] ?? 0),
      worst: by((sorted) => sorted.at(-1) ?? 0),
      share: by((sorted) => sorted.reduce((sum, one) => sum + one, 0) / total)
    }
    const long = described.filter(({ own, pause, wall }) => wall > longMillis || own + pause > longMillis)
    appendFileSync(path, [...long, span].map((line) => `${JSON.stringify(line)}\n`).join(""))
  }, spanMillis)
}

const path = process.env["ATROPOS_STALL_LOG"]
if (isMainThread && path !== undefined) watch(path)
