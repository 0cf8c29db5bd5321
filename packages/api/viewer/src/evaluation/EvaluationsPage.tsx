/**
 * Lists the evaluations of the current run, or all including those without a run, newest first: each links to its
 * samples, and two can be compared. Files have no runs: all of theirs are listed.
 */
import { useState } from "react"
import { Link, useLocation } from "wouter"
import { evaluationPath, evaluationsPath } from "../route/Location.ts"
import { useSearch } from "../route/useHash.ts"
import { type Column, DataTable } from "../ui/DataTable.tsx"
import { usePolled } from "../state/usePolled.ts"
import type * as Wire from "../source/Wire.ts"
import { useSource } from "../state/SourceContext.tsx"
import { useRuns } from "../state/useRun.tsx"
import { Ago } from "../ui/Ago.tsx"
import { count, number } from "../ui/Format.ts"
import { Empty, Failure, Loading } from "../ui/Note.tsx"
import { useTitle } from "../ui/useTitle.ts"
import { useShortcuts } from "../ui/useShortcuts.tsx"
import { Share } from "./Figures.tsx"
import { figureOf, titleOf } from "./Title.ts"
import { Trends } from "./Trends.tsx"
import "./evaluation.css"

type Row = Wire.EvaluationRow

export const EvaluationsPage = () => {
  const { run } = useRuns()
  const { hasService } = useSource()
  const search = useSearch()
  const isOfAll = run === null || !hasService || search.get("of") === "all"
  const remote = usePolled("evaluations", (source, signal) => source.evaluations(signal))
  const [selected, setSelected] = useState<ReadonlyArray<string>>([])
  const [, navigate] = useLocation()
  useTitle("Evaluations", (isOfAll ? null : run) ?? "all")
  useShortcuts("Evaluations", [
    { keys: ["r"], label: "load newer evaluations", run: remote.reload },
    { keys: ["c"], label: "compare the selected two", run: () => compare() }
  ])
  const { error, value } = remote
  if (value === null)
    return error === null ? <Loading what="evaluations" /> : <Failure error={error} onRetry={remote.reload} />
  const own = value.filter((row) => row.run === run)
  const rows = isOfAll ? value : own
  // The older one first.
  const pair = value.filter(({ id }) => selected.includes(id)).toReversed()
  const [before, after] = pair
  const compare = () => {
    if (before !== undefined && after !== undefined) navigate(evaluationPath(before.id, after.id))
  }
  const toggle = (id: string) =>
    setSelected((selected) =>
      selected.includes(id) ? selected.filter((one) => one !== id) : [...selected, id].slice(-2)
    )
  return (
    <div className="page">
      <div className="section-head evaluations-head">
        <h1>Evaluations</h1>
        <p className="muted" role="status">
          {isOfAll ? count(rows.length) : `${count(rows.length)} of ${run}`}
        </p>
        {hasService && run !== null && own.length < value.length && (
          <Link className="button small" href={evaluationsPath(run, !isOfAll)}>
            {isOfAll ? `Only ${run}` : `All ${count(value.length)}`}
          </Link>
        )}
        <button type="button" className="primary" disabled={pair.length < 2} onClick={compare}>
          {pair.length < 2 ? "Select two to compare" : "Compare selected"}
        </button>
      </div>
      {rows.length === 0 ? (
        <Empty title="No evaluations yet">
          <p>
            Training records evaluations if the environment has held-out items (<code>steps_per_eval</code>;{" "}
            <code>up</code> evaluates before and after). Submit others with:
          </p>
          <pre>npx @atropos/cli evaluate --suite gsm8k --service http://localhost:8000</pre>
        </Empty>
      ) : (
        <>
          {!isOfAll && <Trends rows={rows} />}
          <DataTable caption="Evaluations" columns={columnsOf(selected, toggle)} rows={rows} rowKey={({ id }) => id} />
        </>
      )}
    </div>
  )
}

const columnsOf = (selected: ReadonlyArray<string>, toggle: (id: string) => void): ReadonlyArray<Column<Row>> => [
  {
    id: "name",
    title: "Evaluation",
    value: ({ name }) => name,
    cell: ({ id, name }) => <Link href={evaluationPath(id)}>{name}</Link>
  },
  {
    id: "chosen",
    title: "Compare",
    value: ({ id }) => (selected.includes(id) ? 1 : 0),
    cell: (row) => (
      <input
        type="checkbox"
        checked={selected.includes(row.id)}
        aria-label={`Compare ${titleOf(row)}`}
        onChange={() => toggle(row.id)}
      />
    )
  },
  { id: "run", title: "Run", value: ({ run }) => run, cell: ({ run }) => <span className="whole">{run ?? "–"}</span> },
  { id: "step", title: "Step", isNumber: true, value: ({ step }) => step },
  {
    id: "model",
    title: "Model",
    value: ({ model }) => model,
    cell: ({ model }) => <span className="mono">{model}</span>
  },
  {
    id: "correct",
    title: "Correct",
    isNumber: true,
    value: (row) => figureOf(row, "percent_correct"),
    cell: (row) => {
      const value = figureOf(row, "percent_correct")
      const [lower, upper] = [figureOf(row, "percent_correct_ci_low"), figureOf(row, "percent_correct_ci_high")]
      return value === null ? (
        "–"
      ) : (
        <Share estimate={{ value, ...(lower !== null && upper !== null && { interval: { lower, upper } }) }} />
      )
    }
  },
  {
    id: "score",
    title: "Score",
    isNumber: true,
    value: (row) => figureOf(row, "mean_score"),
    cell: (row) => format(figureOf(row, "mean_score"))
  },
  { id: "items", title: "Items", isNumber: true, value: (row) => figureOf(row, "items") },
  {
    id: "failed",
    title: "Failed",
    isNumber: true,
    value: (row) => figureOf(row, "failed_items")
  },
  { id: "at", title: "When", isNumber: true, value: ({ at }) => at, cell: ({ at }) => <Ago at={at} /> }
]

const format = (value: number | null): string => (value === null ? "–" : number(value, 3))
