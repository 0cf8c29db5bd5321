/** Shows the effective settings of the runs: a table opened on demand, with search and a filter for differences. */
import { useMemo, useState } from "react"
import { type Column, DataTable } from "../ui/DataTable.tsx"
import type * as Wire from "../source/Wire.ts"
import { useRemote } from "../state/useRemote.ts"
import * as Format from "../ui/Format.ts"
import { Failure, Loading } from "../ui/Note.tsx"
import * as SettingsTable from "./SettingsTable.ts"
import "./settings.css"

interface SettingsSectionProps {
  /** Names of the runs, the current one first. */
  readonly names: ReadonlyArray<string>
  readonly runs: ReadonlyArray<Wire.Run>
}

export const SettingsSection = (props: SettingsSectionProps) => {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <section className="chart-section">
      <details className="settings" open={isOpen} onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
        <summary>
          <h2>Settings</h2>
          <span className="muted">configuration at start</span>
        </summary>
        {isOpen && <Settings {...props} />}
      </details>
    </section>
  )
}

const Settings = ({ names, runs }: SettingsSectionProps) => {
  const { error, reload, value } = useRemote(`settings:${names.join("\n")}`, (source, signal) =>
    Promise.all(names.map(async (run) => ({ run, sources: await source.settings(run, signal) })))
  )
  const [search, setSearch] = useState("")
  const [isAll, setIsAll] = useState(false)
  const all = useMemo(
    () =>
      SettingsTable.of(
        (value ?? []).map((one) => ({
          ...one,
          // Saved groups have no registration.
          registered: runs.find(({ name, registered }) => registered && name === one.run)
        }))
      ),
    [value, runs]
  )
  const compared = value?.map(({ run }) => run).join("\n") ?? ""
  const columns = useMemo(() => columnsOf(compared.split("\n")), [compared])
  if (error !== null && value === null) return <Failure error={error} onRetry={reload} />
  if (value === null) return <Loading what="settings" />
  const isCompared = value.length > 1
  const selected = isCompared && !isAll ? all.filter(({ isDifferent }) => isDifferent) : all
  const rows = SettingsTable.search(selected, search)
  return (
    <>
      <div className="section-head">
        <input
          type="search"
          aria-label="Search settings"
          placeholder="Search settings"
          value={search}
          onChange={(event) => setSearch(event.target.value)}
        />
        {isCompared && (
          <label className="check">
            <input type="checkbox" checked={!isAll} onChange={() => setIsAll(!isAll)} />
            differences only
          </label>
        )}
        <span className="muted" role="status">
          {Format.plural(rows.length, "setting")}
          {rows.length < all.length && ` of ${Format.count(all.length)}`}
        </span>
      </div>
      {value.map(
        ({ run, sources }) =>
          sources.length === 0 && (
            <p key={run} className="muted">
              No settings recorded for {run}.
            </p>
          )
      )}
      <DataTable caption="Settings" columns={columns} rows={rows} rowKey={({ name, of }) => `${of}\n${name}`} />
    </>
  )
}

const columnsOf = (names: ReadonlyArray<string>): ReadonlyArray<Column<SettingsTable.Row>> => [
  {
    id: "name",
    title: "Setting",
    value: ({ name }) => name,
    cell: ({ name }) => <code className="setting-name">{name}</code>
  },
  { id: "of", title: "Scope", value: ({ of }) => of },
  ...names.map((name, at): Column<SettingsTable.Row> => ({
    id: `run ${at}`,
    title: names.length > 1 ? name : "Value",
    value: ({ values }) => values[at] ?? null,
    cell: ({ values }) => {
      const value = values[at] ?? null
      return value === null ? (
        <span className="muted">–</span>
      ) : (
        <span className="setting-value">{value === "" ? "\u201c\u201d" : value}</span>
      )
    }
  }))
]
