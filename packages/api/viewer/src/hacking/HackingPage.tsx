/**
 * Shows signs of reward hacking in a run with links to the rollouts: length against score, repeated answers, and
 * phrases linked to high scores.
 */
import { useEffect, useMemo, useState } from "react"
import { Link, useLocation } from "wouter"
import * as Filter from "../query/Filter.ts"
import * as Guilty from "../health/Guilty.ts"
import type { Chart } from "../chart/Catalog.ts"
import { ChartCard } from "../chart/ChartCard.tsx"
import { usePlotStyle } from "../chart/usePlotStyle.ts"
import * as StaticMetrics from "../metrics/StaticMetrics.ts"
import type { PageView } from "../chart/PageView.ts"
import { useRun } from "../state/useRun.tsx"
import { count, plural } from "../ui/Format.ts"
import { Empty, Failure, Loading } from "../ui/Note.tsx"
import { useTitle } from "../ui/useTitle.ts"
import { Phrases } from "./Phrases.tsx"
import { Scatter } from "./Scatter.tsx"
import * as Signs from "./Signs.ts"
import "uplot/dist/uPlot.min.css"
import "../run/run.css"
import "../health/health.css"
import "./hacking.css"
import { SourceError } from "../source/Source.ts"
import type * as Wire from "../source/Wire.ts"
import { useSession, useSource } from "../state/SourceContext.tsx"

/**
 * Loads the rows of a run's groups, at most the newest ones, page by page, with an update after each.
 * Max groups, the newest ones.
 */
const maxRows = 10_000
const pageRows = 1000

interface GroupRows {
  /** Newest first. */
  readonly rows: ReadonlyArray<Wire.RolloutRow>
  readonly total: number
  readonly unindexed: number
  readonly isDone: boolean
  readonly error: SourceError | null
}

const nothing: GroupRows = { rows: [], total: 0, unindexed: 0, isDone: false, error: null }

const useGroupRows = (run: string): GroupRows & { readonly reload: () => void } => {
  const source = useSource()
  const { epoch, reportUnauthorized } = useSession()
  const [round, setRound] = useState(0)
  const key = JSON.stringify([run, epoch, round])
  const [loaded, setLoaded] = useState({ key, value: nothing })

  useEffect(() => {
    const abort = new AbortController()
    const report = (value: GroupRows) => {
      if (!abort.signal.aborted) setLoaded({ key, value })
    }
    const load = async () => {
      const rows: Array<Wire.RolloutRow> = []
      let [before, total, unindexed] = [undefined as string | undefined, 0, 0]
      do {
        const query = { newest_run: "true" as const, limit: pageRows, ...(before !== undefined && { before }) }
        const page = await source.browse(run, query, abort.signal)
        rows.push(...page.rows)
        total = page.total ?? total
        unindexed = page.unindexed ?? unindexed
        before = page.next ?? undefined
        const isDone = before === undefined || rows.length >= maxRows
        report({ rows: [...rows], total, unindexed, isDone, error: null })
      } while (before !== undefined && rows.length < maxRows)
    }
    load().catch((cause: unknown) => {
      if (abort.signal.aborted) return
      const error = cause instanceof SourceError ? cause : new SourceError("failed", String(cause))
      if (error.kind === "unauthorized") reportUnauthorized()
      report({ ...nothing, isDone: true, error })
    })
    return () => abort.abort()
  }, [source, run, key, reportUnauthorized])

  const value = loaded.key === key ? loaded.value : nothing
  return { ...value, reload: () => setRound((round) => round + 1) }
}

export const HackingPage = () => {
  const run = useRun()
  useTitle("Reward hacking", run)
  const { reload, ...groups } = useGroupRows(run)
  return (
    <div className="page hacking-page">
      <div className="section-head">
        <h1>Reward hacking</h1>
        <p className="muted" role="status">
          {toldOf(groups)}
        </p>
      </div>
      {groups.error !== null ? (
        <Failure error={groups.error} onRetry={reload} />
      ) : groups.rows.length === 0 ? (
        groups.isDone ? (
          <Empty title="No groups yet" />
        ) : (
          <Loading what="groups" />
        )
      ) : (
        <SignsOf run={run} groups={groups} />
      )}
    </div>
  )
}

const toldOf = ({ isDone, rows, total, unindexed }: GroupRows): string =>
  [
    rows.length < total
      ? `${isDone ? "the newest " : ""}${count(rows.length)} of ${plural(total, "group")}`
      : plural(rows.length, "group"),
    ...(unindexed > 0 ? [`${count(unindexed)} still loading`] : [])
  ].join(", ")

const chart = (sign: Signs.Sign, title: string, unit: Chart["unit"], help: string): Chart => ({
  id: Signs.metrics[sign],
  title,
  unit,
  help,
  kind: "lines",
  traces: [{ label: title.toLowerCase(), metric: Signs.metrics[sign] }]
})

const charts: ReadonlyArray<Chart> = [
  chart(
    "correlation",
    "Length–score correlation",
    "number",
    "Within groups, per step; above 0, longer answers score higher."
  ),
  chart("length", "Length", "tokens", "Trained tokens per answer."),
  chart(
    "repeated",
    "Repeated answers",
    "share",
    "Answers below the best score that repeat another rollout of their group verbatim."
  ),
  chart("commonest", "Most common answer", "share", "Share of a step, if given for several items."),
  chart(
    "contradicted",
    "Inconsistent scores",
    "share",
    "Repeated answers to an item that score very differently from before."
  ),
  chart(
    "right",
    "Right-answer margin",
    "share",
    "By how much answers matching the expected one score higher, as a share of the score range; below 0, the grader rewards wrong answers."
  )
]

/** Order of the groups behind a sign: the clearest first. */
const orders: { readonly [S in Signs.Sign]: Pick<Filter.Filter, "sort" | "isAscending"> } = {
  correlation: { sort: "longest_best", isAscending: false },
  length: { sort: "length", isAscending: false },
  repeated: { sort: "deviation", isAscending: true },
  commonest: { sort: "deviation", isAscending: true },
  contradicted: { sort: "disagreement", isAscending: false },
  right: { sort: "mean", isAscending: false }
}

const signOf = (metric: string): Signs.Sign =>
  // The keys are the signs.
  (Object.keys(Signs.metrics) as ReadonlyArray<Signs.Sign>).find((sign) => Signs.metrics[sign] === metric) ?? "length"

const SignsOf = ({ groups: { isDone, rows }, run }: { readonly run: string; readonly groups: GroupRows }) => {
  const [, navigate] = useLocation()
  const style = usePlotStyle()
  const [range, setRange] = useState<PageView["range"]>(null)
  const table = useMemo(() => Signs.tableOf(rows), [rows])
  const pairs = useMemo(() => Signs.pairs(rows, 600), [rows])
  const metrics = useMemo(() => StaticMetrics.make(run, table), [run, table])
  const hasSteps = rows.some(({ step }) => step !== null)
  const found = useMemo(() => Signs.find(table, hasSteps), [table, hasSteps])
  const view: PageView = { others: [], axis: "step", smoothing: 0, isLogX: false, isLogY: false, range }
  const address = (sign: Signs.Sign, environment: string | null, from: number, to: number) =>
    Guilty.address(run, {
      ...Filter.none,
      ...orders[sign],
      environment,
      ...(hasSteps && { stepFrom: from, stepTo: to })
    })
  return (
    <>
      {found.length === 0 ? (
        isDone && (
          <p>
            {Signs.isJudged(rows)
              ? "No signs: reward correlates with neither length nor repetition."
              : "Too few answers to judge: only groups with two or more untruncated answers and different scores count."}
          </p>
        )
      ) : (
        <ul className="findings" aria-label="Signs">
          {found.map(({ environment, from, message, sign, title, to }) => (
            <li key={`${title} ${environment}`} className="finding is-suspect">
              <h2>{title}</h2>
              <p>{message}</p>
              <p className="finding-ways">
                <Link className="button small" href={address(sign, environment, from, to)}>
                  {hasSteps ? `Groups from step ${from}` : "Groups"}
                </Link>
              </p>
            </li>
          ))}
        </ul>
      )}
      <details className="muted rule">
        <summary>When a sign is shown</summary>
        {Signs.rulesInWords}
        {!hasSteps && " Without steps, consecutive parts of the list are used instead."}
      </details>
      <div className="charts">
        {pairs.early.length + pairs.late.length > 0 && <Scatter {...pairs} />}
        {charts
          .filter(({ id }) => table.sourcesOf(id).length > 0)
          .map((chart) => (
            <ChartCard
              key={chart.id}
              chart={chart}
              metrics={metrics}
              view={view}
              style={style}
              findings={[]}
              onZoom={setRange}
              onPick={({ metric, source, step }) =>
                navigate(address(signOf(metric), source === "trainer" ? null : source, step, step))
              }
            />
          ))}
      </div>
      {isDone && <Phrases run={run} rows={rows} />}
    </>
  )
}
