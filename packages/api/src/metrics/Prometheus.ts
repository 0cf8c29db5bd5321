/**
 * Serves metrics to Prometheus at `/metrics`: this process's counters and timings, event loop delay, the current queue
 * of each run, and the last metrics reported by environments and trainers. The output is bounded to the newest runs and
 * a max number of reported values; the rest is counted.
 */
import type { TrajectoryApi } from "@atropos/core"
import { Effect } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { PrometheusMetrics } from "effect/observability"
import { RolloutReader } from "../store/RolloutReader.ts"
import { EventLoopDelay } from "./ServiceMetrics.ts"
import { type Run, type StoreError, TrajectoryStore } from "../store/TrajectoryStore.ts"

interface Family {
  readonly name: string
  readonly help: string
  readonly samples: ReadonlyArray<{ readonly labels: { readonly [label: string]: string }; readonly value: number }>
}

const escape = (text: string) => text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")

/** The text format's spellings: NaN, +Inf, -Inf. */
const written = (value: number): string =>
  Math.abs(value) === Number.POSITIVE_INFINITY ? (value > 0 ? "+Inf" : "-Inf") : `${value}`

const render = ({ help, name, samples }: Family): string => {
  if (samples.length === 0) return ""
  const lines = samples.map(({ labels, value }) => {
    const inside = Object.entries(labels).map(([label, text]) => `${label}="${escape(text)}"`)
    return `${name}${inside.length === 0 ? "" : `{${inside.join()}}`} ${written(value)}`
  })
  return `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${lines.join("\n")}\n`
}

interface RunState {
  readonly run: Run
  readonly summary: TrajectoryApi.QueueSummary
  readonly reported: ReadonlyArray<TrajectoryApi.MetricsRow>
}

const gauges: ReadonlyArray<readonly [name: string, help: string, value: (state: RunState) => number]> = [
  ["atropos_run_step", "Step of the run: starting step plus delivered batches", ({ summary }) => summary.currentStep],
  ["atropos_queue_groups", "Groups in the queue", ({ summary }) => summary.queuedGroups],
  ["atropos_queue_sequences", "Sequences in the queue", ({ summary }) => summary.queuedSequences],
  ["atropos_queue_bytes", "Bytes of the groups in the queue, as stored", ({ summary }) => summary.queuedBytes],
  [
    "atropos_queue_buffered_groups",
    "Groups waiting to be combined to their environment's group size",
    ({ summary }) => summary.bufferedGroups
  ],
  ["atropos_batches_formed", "Batches waiting to be claimed", ({ summary }) => summary.formedBatches],
  ["atropos_batches_leased", "Batches leased to trainers", ({ summary }) => summary.leasedBatches],
  [
    "atropos_queue_stuck_groups",
    "Groups stuck in the queue",
    ({ summary }) => summary.stuck.reduce((sum, { count }) => sum + count, 0)
  ]
]

const newest = (rows: ReadonlyArray<TrajectoryApi.MetricsRow>): ReadonlyArray<TrajectoryApi.MetricsRow> => {
  const bySource = new Map<string, TrajectoryApi.MetricsRow>()
  for (const row of rows) {
    const known = bySource.get(row.source)
    if (known === undefined || row.at > known.at || (row.at === known.at && row.step > known.step)) {
      bySource.set(row.source, row)
    }
  }
  return [...bySource.values()]
}

const maxRuns = 100

/** Max reported values in the output, over all runs. */
const maxValues = 10_000

const reportedValues = ({ reported, run }: RunState) =>
  newest(reported).flatMap(({ source, values }) =>
    Object.entries(values).map(([name, value]) => ({ labels: { run: run.name, source, name }, value }))
  )

const nanosecondsToSeconds = 1e-9

const renderAll = (
  states: ReadonlyArray<RunState>,
  runsLeftOut: number,
  delay: EventLoopDelay["Service"],
  counters: string
): string => {
  const values = states.flatMap(reportedValues)
  const families: ReadonlyArray<Family> = [
    ...gauges.map(([name, help, value]) => ({
      name,
      help,
      samples: states.map((state) => ({ labels: { run: state.run.name }, value: value(state) }))
    })),
    {
      name: "atropos_reported_value",
      help: "The last metrics reported by environments and trainers",
      samples: values.slice(0, maxValues)
    },
    {
      name: "atropos_metrics_left_out",
      help: "Runs and reported values omitted here",
      samples: [
        { labels: { what: "runs" }, value: runsLeftOut },
        { labels: { what: "reported values" }, value: Math.max(0, values.length - maxValues) }
      ]
    },
    {
      name: "atropos_event_loop_delay_seconds",
      help: "Event loop delay since the last scrape",
      samples: [
        { labels: { quantile: "0.5" }, value: delay.percentile(50) * nanosecondsToSeconds },
        { labels: { quantile: "0.99" }, value: delay.percentile(99) * nanosecondsToSeconds },
        { labels: { quantile: "1" }, value: delay.max * nanosecondsToSeconds }
      ]
    },
    {
      name: "process_resident_memory_bytes",
      help: "Resident memory of this process",
      samples: [{ labels: {}, value: process.memoryUsage.rss() }]
    }
  ]
  return `${families.map(render).join("")}${counters}`
}

/** Rows of the last steps include the newest of every live source. */
const recentSteps = 20
const reportedRows = 2000

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const store = yield* TrajectoryStore
    const reader = yield* RolloutReader
    const delay = yield* EventLoopDelay
    const reported = (run: Run): Effect.Effect<ReadonlyArray<TrajectoryApi.MetricsRow>, StoreError> =>
      reader.metrics(run.name, { fromStep: run.currentStep - recentSteps, limit: reportedRows }).pipe(
        Effect.map(({ metrics }) => metrics),
        // The run was reset between the two reads.
        Effect.catchTags({ UnknownRun: () => Effect.succeed([]) })
      )
    yield* router.add(
      "GET",
      "/metrics",
      Effect.gen(function* () {
        const all = yield* store.runs
        const runs = all.slice(-maxRuns)
        const states = yield* Effect.forEach(runs, (run) =>
          Effect.all({
            run: Effect.succeed(run),
            summary: store.summary(run.name),
            reported: reported(run)
          })
        )
        const text = renderAll(states, all.length - runs.length, delay, yield* PrometheusMetrics.format())
        delay.reset()
        return HttpServerResponse.text(text, { contentType: "text/plain; version=0.0.4; charset=utf-8" })
      }).pipe(
        Effect.catchTags({
          StoreError: (error) =>
            Effect.succeed(
              HttpServerResponse.jsonUnsafe(
                { error: "Unavailable", message: error.message },
                { status: 503, headers: { "retry-after": "1" } }
              )
            )
        })
      )
    )
  })
)
