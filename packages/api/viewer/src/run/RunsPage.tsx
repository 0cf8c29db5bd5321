/** Lists all runs of the service with their states and the settings in which they differ, to open or overlay them. */
import * as Health from "@atropos/core/health/Health"
import { useMemo, useState } from "react"
import { Link } from "wouter"
import { format, runPath } from "../route/Location.ts"
import type * as Wire from "../source/Wire.ts"
import { useRemote } from "../state/useRemote.ts"
import { useRun, useRuns } from "../state/useRun.tsx"
import { type Column, DataTable } from "../ui/DataTable.tsx"
import * as Format from "../ui/Format.ts"
import { Failure } from "../ui/Note.tsx"
import * as SettingsTable from "./SettingsTable.ts"

interface Row {
  readonly run: Wire.Run
  /** Values of the settings in which the runs differ, by their names. */
  readonly settings: ReadonlyMap<string, string>
}

const maxSettings = 6

/** Max runs whose settings are read, the newest: a request for each. */
const maxCompared = 100

/** Settings of a place rather than of the training. */
const places = /(_dir|_url|url|port|project|group|seed_file)$/

/** Rows of the runs, and the names of the settings in which they differ: those of the most runs first. */
const rowsOf = (runs: ReadonlyArray<Wire.Run>, sources: ReadonlyArray<ReadonlyArray<Wire.SourceSettings>>) => {
  const table = SettingsTable.of(
    runs.map((run, at) => ({ run: run.name, registered: run, sources: sources[at] ?? [] }))
  )
  const different = table
    .filter(({ isDifferent, name }) => isDifferent && !places.test(name))
    .toSorted((left, right) => known(right) - known(left))
    .slice(0, maxSettings)
  const rows = runs.map((run, at): Row => ({
    run,
    settings: new Map(different.map(({ name, values }) => [name, values[at] ?? ""]))
  }))
  return { names: different.map(({ name }) => name), rows }
}

const known = ({ values }: SettingsTable.Row): number => values.filter((value) => value !== null).length

const stateOf = ({ activity, current_step, num_steps }: Wire.Run): string => {
  if (num_steps > 0 && current_step >= num_steps) return "done"
  if (activity === undefined) return "–"
  const { idle_seconds, state } = activity
  return state === "stalled" || state === "stopped" ? `${state} ${Health.Activity.span(idle_seconds)}` : state
}

const columnsOf = (own: string, names: ReadonlyArray<string>): ReadonlyArray<Column<Row>> => [
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
  ...names.map((name): Column<Row> => ({ id: name, title: name, value: ({ settings }) => settings.get(name) ?? null })),
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
  const settings = useRemote(`runs' settings:${key}`, (source, signal) =>
    Promise.all(key.split("\n").map((run) => source.settings(run, signal)))
  )
  const [search, setSearch] = useState("")
  const { names, rows } = useMemo(() => rowsOf(all, settings.value ?? []), [all, settings.value])
  const columns = useMemo(() => columnsOf(own, names), [own, names])
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
