/**
 * Lists all runs of the service with their states, results and the settings in which they differ, to open or overlay
 * them.
 */
import { useMemo, useState } from "react"
import { Link } from "wouter"
import { format, runPath } from "../route/Location.ts"
import type * as Wire from "../source/Wire.ts"
import { useRemote } from "../state/useRemote.ts"
import { useRun, useRuns } from "../state/useRun.tsx"
import { Ago } from "../ui/Ago.tsx"
import { type Column, DataTable } from "../ui/DataTable.tsx"
import * as Format from "../ui/Format.ts"
import { Failure } from "../ui/Note.tsx"
import { quantity } from "../ui/Quantity.ts"
import { recentSteps } from "./Headline.ts"
import { isLossFirst } from "./Headlines.tsx"
import { describe } from "./Liveness.tsx"
import * as RunResult from "./RunResult.ts"
import * as SettingsTable from "./SettingsTable.ts"
import { heldOut } from "./StatusBar.tsx"

interface Row {
  readonly run: Wire.Run
  readonly result: RunResult.RunResult
  /** Values of the settings in which the runs differ, by label. */
  readonly settings: ReadonlyMap<string, string>
}

const maxSettings = 6

/** Max runs whose settings and results are read, the newest: two requests for each. */
const maxCompared = 100

const stepSettings: ReadonlySet<string> = new Set(["num_steps", "training_steps"])

/** Settings of several sources may have the same name. */
const labelOf = ({ name, of }: SettingsTable.Row): string => (of === "run" ? name : `${of} ${name}`)

/** Rows of the runs, and the labels of the settings in which they differ. */
const rowsOf = (
  runs: ReadonlyArray<Wire.Run>,
  sources: ReadonlyArray<ReadonlyArray<Wire.SourceSettings>>,
  results: RunResult.RunResults
) => {
  const table = SettingsTable.of(
    runs.map((run, at) => ({ run: run.name, registered: run.registered ? run : undefined, sources: sources[at] ?? [] }))
  )
  // The steps have a column.
  const different = SettingsTable.distinct(
    SettingsTable.differing(table.filter(({ name }) => !stepSettings.has(name)))
  ).slice(0, maxSettings)
  const rows = runs.map((run, at): Row => ({
    run,
    result: results.get(run.name) ?? RunResult.unknown,
    settings: new Map(different.map((setting) => [labelOf(setting), setting.values[at] ?? ""]))
  }))
  return { labels: different.map(labelOf), rows }
}

const stateOf = ({ activity, current_step, num_steps }: Wire.Run): string => {
  if (num_steps > 0 && current_step >= num_steps) return "done"
  return activity === undefined ? "–" : describe(activity)
}

/** Null if the run's loss uses no rewards: they do not show its progress. */
const rewardOf = ({ result, run }: Row): number | null => (isLossFirst(run) ? null : result.reward)

const columnsOf = (own: string, labels: ReadonlyArray<string>): ReadonlyArray<Column<Row>> => [
  {
    id: "run",
    title: "Run",
    value: ({ run }) => run.name,
    cell: ({ run }) => <Link href={runPath(run.name)}>{run.name}</Link>
  },
  { id: "state", title: "State", value: ({ run }) => stateOf(run) },
  {
    id: "step",
    title: "Step",
    isNumber: true,
    value: ({ run }) => run.current_step,
    cell: ({ run }) =>
      run.num_steps > 0
        ? `${Format.count(run.current_step)} of ${Format.count(run.num_steps)}`
        : Format.count(run.current_step)
  },
  {
    id: "reward",
    title: `Reward, last ${recentSteps}`,
    isNumber: true,
    value: rewardOf,
    cell: (row) => {
      const reward = rewardOf(row)
      return reward === null ? "–" : quantity(reward, "number")
    }
  },
  {
    id: "evaluation",
    title: "Held-out",
    isNumber: true,
    value: ({ result }) => result.heldOut?.value ?? null,
    cell: ({ result }) => (result.heldOut === null ? "–" : heldOut(result.heldOut))
  },
  {
    id: "updated",
    title: "Last step",
    isNumber: true,
    value: ({ result }) => result.updatedAt,
    cell: ({ result }) => (result.updatedAt === null ? "–" : <Ago at={result.updatedAt} />)
  },
  {
    id: "overlay",
    title: "Compare",
    value: () => null,
    cell: ({ run }) =>
      run.name === own ? (
        <span className="muted">this run</span>
      ) : (
        <Link className="button small" href={format("/", { run: own, with: run.name })}>
          Overlay with {own}
        </Link>
      )
  },
  ...labels.map((label): Column<Row> => ({
    id: label,
    title: label,
    value: ({ settings }) => settings.get(label) || null
  }))
]

export const RunsPage = () => {
  const own = useRun()
  const { runs } = useRuns()
  const all = runs.value ?? none
  const key = all
    .slice(0, maxCompared)
    .map(({ name }) => name)
    .join("\n")
  const settings = useRemote(key === "" ? null : `runs' settings:${key}`, (source, signal) =>
    Promise.all(key.split("\n").map((run) => source.settings(run, signal)))
  )
  // New steps and evaluations are read with the runs, whenever one has moved.
  const progress = all.map(({ current_step }) => current_step).join(" ")
  const results = useRemote(key === "" ? null : `runs' results:${key}:${progress}`, (source, signal) =>
    RunResult.load(source, all.slice(0, maxCompared), signal)
  )
  const [search, setSearch] = useState("")
  const { labels, rows } = useMemo(
    () => rowsOf(all, settings.value ?? [], results.value ?? new Map()),
    [all, settings.value, results.value]
  )
  const columns = useMemo(() => columnsOf(own, labels), [own, labels])
  const words = search.toLowerCase().split(/\s+/)
  const shown = rows.filter(({ run, settings }) => {
    const text = [run.name, stateOf(run), ...settings.values()].join("\n").toLowerCase()
    return words.every((word) => text.includes(word))
  })
  return (
    <div className="page">
      <h1>Runs</h1>
      <div className="section-head">
        <input
          type="search"
          aria-label="Search runs"
          placeholder="Name, state or setting"
          value={search}
          onChange={(event) => setSearch(event.target.value)}
        />
        <span className="muted" role="status">
          {Format.plural(shown.length, "run")}
          {shown.length < rows.length && ` of ${Format.count(rows.length)}`}
        </span>
      </div>
      {[settings, results].map(
        ({ error, reload, value }, index) =>
          error !== null && value === null && <Failure key={index} error={error} onRetry={reload} />
      )}
      <DataTable caption="Runs" columns={columns} rows={shown} rowKey={({ run }) => run.name} />
    </div>
  )
}

const none: ReadonlyArray<Wire.Run> = []
