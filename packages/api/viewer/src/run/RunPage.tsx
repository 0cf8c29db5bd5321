/** A run's curves, alone or laid over those of other runs, as they come. */
import { useMemo } from "react"
import { Link } from "wouter"
import { groupsPath } from "../route/Location.ts"
import type * as Wire from "../source/Wire.ts"
import { useSource } from "../state/SourceContext.tsx"
import { useRun, useRuns } from "../state/useRun.tsx"
import { Empty, Failure, Loading } from "../ui/Note.tsx"
import { useShortcuts } from "../ui/useShortcuts.tsx"
import { AllMetrics } from "./AllMetrics.tsx"
import * as Catalog from "./Catalog.ts"
import { ChartFigure } from "./ChartFigure.tsx"
import { Headlines } from "./Headlines.tsx"
import type { RunState } from "./RunMetrics.ts"
import { RunPicker } from "./RunPicker.tsx"
import { usePageView } from "./usePageView.ts"
import { usePlotStyle } from "./usePlotStyle.ts"
import { useRunMetrics, useRunShapes } from "./useRunMetrics.ts"
import { ViewTools } from "./ViewTools.tsx"
import { Waiting } from "./Waiting.tsx"
import "uplot/dist/uPlot.min.css"
import "./run.css"

export const RunPage = () => {
  const run = useRun()
  return (
    <>
      <h1 className="sr-only">Run {run}</h1>
      <Charts run={run} />
    </>
  )
}

const Charts = ({ run }: { readonly run: string }) => {
  const runs = useRuns().runs.value ?? none
  const { hasService } = useSource()
  const [view, changeView] = usePageView()
  const others = view.others.filter((name) => name !== run)
  const metrics = useRunMetrics([run, ...others])
  const [, states] = useRunShapes(metrics)
  const style = usePlotStyle()
  const names = useMemo(() => Catalog.namesOf(states), [states])
  const sections = useMemo(() => Catalog.sections(states), [states])
  const own = runs.find(({ name }) => name === run)

  useShortcuts("Run", [
    {
      keys: ["t"],
      label: "by step or by time",
      run: () => changeView({ axis: view.axis === "step" ? "time" : "step" })
    },
    { keys: ["l"], label: "logarithmic values", run: () => changeView({ isLogY: !view.isLogY }) },
    { keys: ["0", "Escape"], label: "reset the zoom", run: () => changeView({ range: null }) }
  ])

  const state = states.find(({ name }) => name === run)
  if (names.length === 0) {
    if (state === undefined || state.phase === "loading") return <Loading what="metrics" />
    if (state.error !== null) return <Failure error={state.error} onRetry={() => metrics.retry(run)} />
    return hasService && own !== undefined ? <Waiting run={own} /> : <WithoutMetrics run={run} isSaved={!hasService} />
  }
  const figure = { metrics, view, style, onZoom: (range: readonly [number, number] | null) => changeView({ range }) }
  return (
    <div className="page run-page">
      <Headlines metrics={metrics} runs={runs} colors={style.series} />
      <Failures states={states} onRetry={metrics.retry} />
      <div className="run-tools">
        <RunPicker
          run={run}
          others={others}
          runs={runs}
          colors={style.series}
          onChange={(others) => changeView({ others })}
        />
        <ViewTools view={view} onChange={changeView} />
      </div>
      {sections.map(({ charts, title }) => (
        <section key={title} className="chart-section">
          <div className="section-head">
            <h2>{title}</h2>
          </div>
          <div className="charts">
            {charts.flatMap((chart) =>
              chart.kind === "stacked" && states.length > 1
                ? states.map(({ name }) => (
                    <ChartFigure key={`${chart.id} ${name}`} chart={chart} run={name} {...figure} />
                  ))
                : [<ChartFigure key={chart.id} chart={chart} {...figure} />]
            )}
          </div>
        </section>
      ))}
      <AllMetrics names={names} {...figure} />
    </div>
  )
}

const none: ReadonlyArray<Wire.Run> = []

/** Runs that could not be loaded beside others that were. */
const Failures = ({
  onRetry,
  states
}: {
  readonly states: ReadonlyArray<RunState>
  readonly onRetry: (name: string) => void
}) =>
  states.flatMap(({ error, name }) =>
    // An outage is told over the page, and mended by itself.
    error === null || error.kind === "unreachable"
      ? []
      : [
          <div key={name} className="run-failure" role="alert">
            <span>
              {name}: {error.message}
            </span>
            <button type="button" className="small" onClick={() => onRetry(name)}>
              Try again
            </button>
          </div>
        ]
  )

const WithoutMetrics = ({ isSaved, run }: { readonly run: string; readonly isSaved: boolean }) => (
  <Empty title="No metrics here">
    <p>
      {isSaved
        ? "Saved groups have no metrics. The curves of a run are on the page of its service."
        : `Nothing is recorded of “${run}”.`}
    </p>
    <Link className="button" href={groupsPath(run)}>
      To its groups
    </Link>
  </Empty>
)
