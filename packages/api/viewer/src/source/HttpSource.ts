/**
 * Implements the source over the trajectory service, or `atropos view`, that served the page: requests go to the page's
 * origin.
 */
import { first, follow } from "./Events.ts"
import * as HttpRequests from "./HttpRequests.ts"
import * as Reach from "./Reach.ts"
import { type Source, SourceError } from "./Source.ts"
import type * as Wire from "./Wire.ts"

/** Reads the evaluations of a service. */
const maxEvaluations = 1000
const samplesPerPage = 2000

interface SamplePage {
  readonly samples: ReadonlyArray<Wire.EvaluationSampleRow>
  readonly next: number | null
}

const pathOf = (id: string): string => `/evaluations/${encodeURIComponent(id)}`

const makeEvaluations = (
  json: HttpRequests.HttpRequests["json"]
): Pick<Source, "evaluations" | "evaluation" | "evaluationSamples" | "evaluationSample"> => {
  return {
    evaluations: async (signal) => {
      const { evaluations } = await json<{ readonly evaluations: ReadonlyArray<Wire.EvaluationRow> }>(
        "/evaluations",
        { limit: maxEvaluations },
        signal
      )
      return evaluations
    },
    evaluation: (id, signal) => json(pathOf(id), {}, signal),
    evaluationSamples: async (id, signal) => {
      const all: Array<Wire.EvaluationSampleRow> = []
      for (let from: number | null = 0; from !== null;) {
        const page: SamplePage = await json(`${pathOf(id)}/samples`, { from, limit: samplesPerPage }, signal)
        all.push(...page.samples)
        from = page.next
      }
      return all
    },
    evaluationSample: async (id, number, signal) =>
      (await json<{ readonly sample: unknown }>(`${pathOf(id)}/samples/${number}`, {}, signal)).sample
  }
}

/** Max ids per URL; more are split over several requests. */
const piecesPerRequest = 800

/** `isFiles`: the server only has groups from files; `opens`: the run of the service's own process. */
export const make = (
  base: string,
  { isFiles = false, opens = null }: { readonly isFiles?: boolean; readonly opens?: string | null } = {}
): Source => {
  const steps = new Map<string, number>()
  const note = (run: string, step: number) => steps.set(run, Math.max(step, steps.get(run) ?? step))
  const noteRows = (run: string, rows: ReadonlyArray<Wire.MetricsRow>) => {
    for (const { source, step } of rows) if (source === "trainer") note(run, step)
  }

  const listRuns = async (signal?: AbortSignal) => {
    const { runs } = await json<{ readonly runs: ReadonlyArray<Wire.Run> }>("/runs", {}, signal)
    // A run that was reset starts over.
    for (const { current_step, name } of runs) steps.set(name, current_step)
    return runs
  }
  const reach = Reach.make(listRuns)
  const { json, put, remove, request } = HttpRequests.make(base, reach)

  return {
    reach,
    stepOf: (run) => steps.get(run) ?? null,
    isLive: true,
    hasService: !isFiles,
    hasMetrics: !isFiles,
    opens,
    title: null,
    runs: listRuns,
    browse: (run, query, signal) => json(`${of(run)}/rollouts`, query, signal),
    rollout: (run, id, signal) => json(`${of(run)}/rollouts/${encodeURIComponent(id)}`, {}, signal),
    pieces: async (run, ids, signal) => {
      const unique = [...new Set(ids)]
      const parts = Array.from({ length: Math.ceil(unique.length / piecesPerRequest) }, (_, part) =>
        unique.slice(part * piecesPerRequest, (part + 1) * piecesPerRequest)
      )
      const answers = await Promise.all(
        parts.map((part) =>
          json<{ readonly pieces: Wire.Pieces }>(`${of(run)}/pieces`, { ids: part.join(",") }, signal)
        )
      )
      return Object.assign({}, ...answers.map(({ pieces }) => pieces))
    },
    metrics: (run, query, signal) => json(`${of(run)}/metrics`, query, signal),
    reverified: async () => null,
    notes: isFiles
      ? null
      : {
          list: async (run, signal) =>
            (await json<{ readonly notes: ReadonlyArray<Wire.Note> }>(`${of(run)}/notes`, {}, signal)).notes,
          write: (run, group, change) => put(`${of(run)}/rollouts/${encodeURIComponent(group)}/note`, change)
        },
    administration: isFiles
      ? null
      : {
          mayDelete: async (signal) =>
            (await ifPresent(json<Wire.Caller>("/caller", {}, signal), { roles: [] })).roles.includes("admin"),
          deleteRun: (run) => remove(of(run))
        },
    console: (signal) => ifPresent(json<Wire.ConsoleOutput>("/console", {}, signal), { lines: [] }),
    environments: async (run, signal) =>
      (await json<{ readonly environments: ReadonlyArray<Wire.EnvironmentRow> }>(`${of(run)}/environments`, {}, signal))
        .environments,
    environmentNames: async (run, signal) =>
      (
        await json<{ readonly environments: ReadonlyArray<Wire.EnvironmentRow> }>(`${of(run)}/environments`, {}, signal)
      ).environments.map(({ name }) => name),
    distribution: (run, query, signal) => json(`${of(run)}/distribution`, query, signal),
    settings: async (run, signal) =>
      (await json<{ readonly sources: ReadonlyArray<Wire.SourceSettings> }>(`${of(run)}/settings`, {}, signal)).sources,
    ...makeEvaluations(json),
    batches: async (run, signal) =>
      (await json<{ readonly batches: ReadonlyArray<Wire.BatchRow> }>(`${of(run)}/batches`, {}, signal)).batches,
    summary: (run, signal) => json(`${of(run)}/summary`, {}, signal),
    watchMetrics: (run, after, { onEvent, onState }) => {
      let last = after
      const report = (rows: ReadonlyArray<Wire.MetricsRow>) => {
        last = rows.at(-1)?.id ?? last
        noteRows(run, rows)
        if (rows.length > 0) onEvent(rows)
      }
      return follow({
        reach,
        open: (signal) => request(`${of(run)}/metrics/events`, { after: last }, signal),
        onMessage: (event, data) => {
          if (event === "metrics") report(rowsOf(JSON.parse(data)))
        },
        ask: async (signal) => {
          for (let hasMore = true; hasMore;) {
            const { metrics, next } = await json<Wire.MetricsPage>(`${of(run)}/metrics`, { after: last }, signal)
            report(metrics)
            hasMore = next !== null
          }
        },
        onState: (state, problem) => onState?.(state, problem)
      })
    },
    watchSummary: (run, { onEvent, onState }) => {
      const open = (signal: AbortSignal) => request(`${of(run)}/events`, {}, signal)
      const onMessage = (event: string | undefined, data: string) => {
        if (event !== "summary") return
        const summary = JSON.parse(data) as Wire.QueueSummary
        note(run, summary.current_step)
        onEvent(summary)
      }
      return follow({
        reach,
        open,
        onMessage,
        ask: async (signal) => first(await open(signal), onMessage),
        onState: (state, problem) => onState?.(state, problem)
      })
    }
  }
}

/** Older services lack the endpoint. */
const ifPresent = <A>(answer: Promise<A>, otherwise: A): Promise<A> =>
  answer.catch((cause: unknown) => {
    if (cause instanceof SourceError && cause.kind === "not-found") return otherwise
    throw cause
  })

const of = (run: string): string => `/runs/${encodeURIComponent(run)}`

const rowsOf = (data: Wire.MetricsRow | ReadonlyArray<Wire.MetricsRow>): ReadonlyArray<Wire.MetricsRow> =>
  Array.isArray(data) ? data : [data as Wire.MetricsRow]
