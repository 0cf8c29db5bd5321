/** Lists all runs of the service with their states and the settings in which they differ, to open or overlay them. */
import { useMemo, useState } from "react"
import { Link } from "wouter"
import { format, runPath } from "../route/Location.ts"
import type * as Wire from "../source/Wire.ts"
import { useRemote } from "../state/useRemote.ts"
import { useRun, useRuns } from "../state/useRun.tsx"
import { type Column, DataTable } from "../ui/DataTable.tsx"
import * as Format from "../ui/Format.ts"
import { Failure } from "../ui/Note.tsx"
import { describe } from "./Liveness.tsx"
import * as SettingsTable from "./SettingsTable.ts"

interface Row {
  readonly run: Wire.Run
  /** Values of the settings in which the runs differ, by label. */
  readonly settings: ReadonlyMap<string, string>
}

const maxSettings = 6

/** Max runs whose settings are read, the newest: a request for each. */
const maxCompared = 100

/** Settings of several sources may have the same name. */
const labelOf = ({ name, of }: SettingsTable.Row): string => (of === "run" ? name : `${of} ${name}`)

/** Rows of the runs, and the labels of the settings in which they differ. */
const rowsOf = (runs: ReadonlyArray<Wire.Run>, sources: ReadonlyArray<ReadonlyArray<Wire.SourceSettings>>) => {
  const table = SettingsTable.of(
    runs.map((run, at) => ({ run: run.name, registered: run.registered ? run : undefined, sources: sources[at] ?? [] }))
  )
  const different = SettingsTable.differing(table).slice(0, maxSettings)
  const rows = runs.map((run, at): Row => ({
    run,
    settings: new Map(different.map((setting) => [labelOf(setting), setting.values[at] ?? ""]))
  }))
  return { labels: different.map(labelOf), rows }
}

const stateOf = ({ activity, current_step, num_steps }: Wire.Run): string => {
  if (num_steps > 0 && current_step >= num_steps) return "done"
  return activity === undefined ? "–" : describe(activity)
}

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
  ...labels.map((label): Column<Row> => ({
    id: label,
    title: label,
    value: ({ settings }) => settings.get(label) || null
  })),
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
  }
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
  const [search, setSearch] = useState("")
  const { labels, rows } = useMemo(() => rowsOf(all, settings.value ?? []), [all, settings.value])
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
      {settings.error !== null && settings.value === null && (
        <Failure error={settings.error} onRetry={settings.reload} />
      )}
      <DataTable caption="Runs" columns={columns} rows={shown} rowKey={({ run }) => run.name} />
    </div>
  )
}

const none: ReadonlyArray<Wire.Run> = []
