/** Shows the re-scored groups of a run: old and new scores, largest changes first; otherwise the command for it. */
import { useMemo } from "react"
import { useSearch, useSetSearch } from "../route/useHash.ts"
import { DataTable } from "../ui/DataTable.tsx"
import type * as Wire from "../source/Wire.ts"
import { useRun } from "../state/useRun.tsx"
import { count } from "../ui/Format.ts"
import { Empty, Failure, Loading } from "../ui/Note.tsx"
import { useTitle } from "../ui/useTitle.ts"
import { columnsOf } from "./ChangeColumns.tsx"
import * as Changes from "../metrics/Changes.ts"
import { Command } from "./Command.tsx"
import { useReverified } from "../state/useReverified.ts"
import "./reverified.css"

const most = 300

export const ReverifiedPage = () => {
  const run = useRun()
  useTitle("Scored again", run)
  const { error, reload, value, ...remote } = useReverified(run)
  if (error !== null) return <Failure error={error} onRetry={reload} />
  if (remote.isLoading && value === null) return <Loading what="scores" />
  if (value === null) {
    return (
      <Empty title="Nobody has scored these rollouts again">
        <Command run={run} />
      </Empty>
    )
  }
  return <Scores run={run} reverified={value} />
}

const Scores = ({ reverified, run }: { readonly run: string; readonly reverified: Wire.Reverified }) => {
  const search = useSearch()
  const setSearch = useSetSearch()
  const wanted = search.get("show")
  const filter = Changes.filters.find((one) => one === wanted) ?? "changed"
  const changes = useMemo(() => reverified.rows.map(Changes.of), [reverified])
  const rows = useMemo(() => Changes.select(changes, filter), [changes, filter])
  const columns = useMemo(
    () =>
      columnsOf(run, {
        isUnscored: filter === "not scored",
        hasComponents: rows.some(({ components }) => components.length > 0)
      }),
    [run, filter, rows]
  )
  return (
    <div className="page reverified-page">
      <div className="section-head">
        <h1>Scored again</h1>
        <p className="muted" role="status">
          {Changes.told(reverified)}
        </p>
      </div>
      <div className="segmented" role="group" aria-label="Which rollouts">
        {Changes.filters.map((name) => (
          <button
            key={name}
            type="button"
            className="small"
            aria-pressed={name === filter}
            onClick={() => setSearch({ show: name === "changed" ? null : name }, { replace: true })}
          >
            {`${name} ${count(Changes.select(changes, name).length)}`}
          </button>
        ))}
      </div>
      {rows.length === 0 ? (
        <p className="muted">{filter === "changed" ? "Every score is as it was." : "There are none."}</p>
      ) : (
        <DataTable
          key={filter}
          caption={`rollouts of ${run} scored again`}
          columns={columns}
          rows={rows.slice(0, most)}
          rowKey={({ group }) => group}
        />
      )}
      {rows.length > most && (
        <p className="muted">{`The ${count(most)} that changed most of ${count(rows.length)}: the command prints all (--show, --json).`}</p>
      )}
    </div>
  )
}
