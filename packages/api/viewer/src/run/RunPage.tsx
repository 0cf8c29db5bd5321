/** Shows a run's curves live, optionally with those of other runs. */
import { useMemo } from "react"
import { Link } from "wouter"
import { Distributions } from "../distribution/Distributions.tsx"
import * as Filter from "../query/Filter.ts"
import * as Guilty from "../health/Guilty.ts"
import { HealthStrip } from "../health/HealthStrip.tsx"
import { useHealth } from "../health/useHealth.ts"
import { groupsPath } from "../route/Location.ts"
import type * as Wire from "../source/Wire.ts"
import { StepTimeline } from "./StepTimeline.tsx"
import { useSource } from "../state/SourceContext.tsx"
import { useHasSteps } from "../state/useHasSteps.ts"
import { useRun, useRuns } from "../state/useRun.tsx"
import { Empty, Failure, Loading } from "../ui/Note.tsx"
import { useShortcuts } from "../ui/useShortcuts.tsx"
import { AllMetrics } from "./AllMetrics.tsx"
import * as Catalog from "../chart/Catalog.ts"
import type { Chart, Section } from "../chart/Catalog.ts"
import { ChartCard } from "../chart/ChartCard.tsx"
import * as Curves from "../chart/Curves.ts"
import * as Facets from "../chart/Facets.ts"
import type { RunData } from "../chart/Curves.ts"
import { DeleteRun } from "./DeleteRun.tsx"
import { Headlines, isLossFirst } from "./Headlines.tsx"
import type { RunState } from "../metrics/RunMetrics.ts"
import { RunPicker } from "./RunPicker.tsx"
import { Unchanged, useUnchanged } from "./Unchanged.tsx"
import { SettingsSection } from "./SettingsSection.tsx"
import { usePick } from "./usePick.ts"
import { usePlotStyle } from "../chart/usePlotStyle.ts"
import { useRunMetrics, useRunShapes } from "../metrics/useRunMetrics.ts"
import { ViewTools } from "./ViewTools.tsx"
import { Waiting } from "./Waiting.tsx"
import "uplot/dist/uPlot.min.css"
import "./run.css"
import { useSearch, useSetSearch } from "../route/useHash.ts"
import { type PageView, read, write } from "../chart/PageView.ts"

interface Arranged extends Section {
  readonly isMain: boolean
}

/** In this order: the first at full width, the others small below it. */
const mainIds: ReadonlyArray<string> = ["reward", "scores", "entropy", "lengths", "kl", "identical"]
/** If no run's loss uses rewards. */
const mainIdsWithoutRewards: ReadonlyArray<string> = ["loss", "entropy", "lengths", "kl"]

/** With a single environment its scores duplicate the trainer's reward. */
const isToldTwice = ({ id, traces }: Chart, runs: ReadonlyArray<Pick<RunData, "table">>): boolean =>
  id === "scores" &&
  runs.every(
    ({ table }) =>
      table.sourcesOf("reward/mean").length > 0 && traces.every(({ metric }) => table.sourcesOf(metric).length <= 1)
  )

/** Orders the charts by importance: the main ones first, then the sections; each once, redundant ones dropped. Pure. */
export const arrange = (
  sections: ReadonlyArray<Section>,
  runs: ReadonlyArray<Pick<RunData, "table">>,
  isLossFirst = false
): ReadonlyArray<Arranged> => {
  const all = sections.flatMap(({ charts }) => charts.filter((chart) => !isToldTwice(chart, runs)))
  const hasReward = all.some(({ id }) => id === "reward")
  const main = (isLossFirst ? mainIdsWithoutRewards : mainIds)
    .filter((id) => id !== "scores" || !hasReward)
    .flatMap((target) => all.find(({ id }) => id === target) ?? [])
  const others = sections.map(({ charts, title }) => ({
    title,
    isMain: false,
    charts: charts.filter((chart) => all.includes(chart) && !main.includes(chart))
  }))
  return [{ title: "Overview", isMain: true, charts: main }, ...others].filter(({ charts }) => charts.length > 0)
}

/** Small multiples take a row each, in which the others would be squeezed. */
const isFaceted = (chart: Chart, runs: ReadonlyArray<RunData>): boolean =>
  Facets.of(chart, Curves.layout(chart, runs)) !== null

/** Stores the view of the run page in the address. */
const usePageView = (): readonly [PageView, (changes: Partial<PageView>) => void] => {
  const search = useSearch()
  const setSearch = useSetSearch()
  const view = useMemo(() => read(search), [search])
  // Ranges in steps and seconds are incompatible, so changing the axis resets the zoom.
  const change = (changes: Partial<PageView>) =>
    setSearch(write({ ...view, ...(changes.axis === undefined ? {} : { range: null }), ...changes }), { replace: true })
  return [view, change]
}

export const RunPage = () => {
  const run = useRun()
  return (
    <>
      <h1 className="sr-only">Run {run}</h1>
      <Charts run={run} />
      <DeleteRun run={run} />
    </>
  )
}

const Charts = ({ run }: { readonly run: string }) => {
  const runs = useRuns().runs.value ?? none
  const { hasService } = useSource()
  const hasSteps = useHasSteps()
  const [view, changeView] = usePageView()
  const others = view.others.filter((name) => name !== run)
  const metrics = useRunMetrics([run, ...others])
  const [, states] = useRunShapes(metrics)
  const style = usePlotStyle()
  const names = useMemo(() => Catalog.namesOf(states), [states])
  const isWithoutRewards = states.every(({ name }) => isLossFirst(runs.find((one) => one.name === name)))
  const sections = useMemo(
    () => arrange(Catalog.sections(states), states, isWithoutRewards),
    [states, isWithoutRewards]
  )
  const own = runs.find(({ name }) => name === run)
  const findings = useHealth(metrics, run, own?.activity)
  const unchanged = useUnchanged(metrics, sections, findings)
  const pick = usePick()

  useShortcuts("Run", [
    {
      keys: ["t"],
      label: "toggle step or time",
      run: () => changeView({ axis: view.axis === "step" ? "time" : "step" })
    },
    { keys: ["l"], label: "toggle log y", run: () => changeView({ isLogY: !view.isLogY }) },
    { keys: ["0", "Escape"], label: "reset zoom", run: () => changeView({ range: null }) }
  ])

  const state = states.find(({ name }) => name === run)
  if (names.length === 0) {
    if (state === undefined || state.phase === "loading") return <Loading what="metrics" />
    if (state.error !== null) return <Failure error={state.error} onRetry={() => metrics.retry(run)} />
    return hasService && own !== undefined ? (
      <>
        {findings.length > 0 && <HealthStrip run={run} findings={findings} />}
        <Waiting run={own} />
      </>
    ) : (
      <WithoutMetrics run={run} isSaved={!hasService} />
    )
  }
  const figure = {
    metrics,
    view,
    style,
    findings,
    onPick: pick,
    onZoom: (range: readonly [number, number] | null) => changeView({ range })
  }
  const cards = (charts: ReadonlyArray<Chart>, isMain = false) =>
    charts.flatMap((chart) =>
      chart.kind === "stacked" && states.length > 1
        ? states.map(({ name }) => <ChartCard key={`${chart.id} ${name}`} chart={chart} run={name} {...figure} />)
        : [<ChartCard key={chart.id} chart={chart} isMain={isMain} {...figure} />]
    )
  const zoomed = view.range === null || state === undefined ? null : Curves.stepsWithin(state, view.range, view.axis)
  return (
    <div className="page run-page">
      <Headlines metrics={metrics} runs={runs} colors={style.series} />
      <Failures states={states} onRetry={metrics.retry} />
      <HealthStrip run={run} findings={findings} at={state?.live === "live" ? state.table.times()?.last : undefined} />
      <div className="run-tools">
        <RunPicker
          run={run}
          others={others}
          runs={runs}
          colors={new Map(states.map(({ name, tone }) => [name, style.series[tone % style.series.length]!]))}
          onChange={(others) => changeView({ others })}
        />
        <ViewTools view={view} onChange={changeView} />
        {zoomed !== null && hasSteps(run) && (
          <Link
            className="button"
            href={Guilty.address(run, { ...Filter.none, stepFrom: zoomed[0], stepTo: zoomed[1] })}
          >
            Groups of steps {zoomed[0]} to {zoomed[1]}
          </Link>
        )}
      </div>
      {sections.map(({ charts, isMain, title }) => (
        <section key={title} className="chart-section">
          <div className="section-head">
            <h2>{title}</h2>
          </div>
          {isMain ? (
            <>
              <div className="charts is-main">{cards(charts.slice(0, 1), true)}</div>
              <div className="charts is-small">
                {cards(charts.slice(1).filter((chart) => !isFaceted(chart, states)))}
              </div>
              <div className="charts">{cards(charts.slice(1).filter((chart) => isFaceted(chart, states)))}</div>
            </>
          ) : (
            <>
              <div className="charts">{cards(charts.filter(({ id }) => !unchanged.has(id)))}</div>
              <Unchanged charts={charts.filter(({ id }) => unchanged.has(id))} figure={figure} />
            </>
          )}
        </section>
      ))}
      {names.includes("train/step_time") && <StepTimeline metrics={metrics} run={run} />}
      {hasService && (
        <Distributions
          run={run}
          environments={state?.table.sourcesOf("train/scores_mean") ?? []}
          step={state?.table.steps()?.last ?? 0}
        />
      )}
      <SettingsSection names={[run, ...others]} runs={runs} />
      <AllMetrics names={names} {...figure} />
    </div>
  )
}

const none: ReadonlyArray<Wire.Run> = []

const Failures = ({
  onRetry,
  states
}: {
  readonly states: ReadonlyArray<RunState>
  readonly onRetry: (name: string) => void
}) =>
  states.flatMap(({ error, name }) =>
    // The banner reports outages, which recover by themselves.
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
        ? "Saved groups have no metrics. Curves of a run are in its service's viewer."
        : `No metrics recorded for “${run}”.`}
    </p>
    <Link className="button" href={groupsPath(run)}>
      Go to groups
    </Link>
  </Empty>
)
