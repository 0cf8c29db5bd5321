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
import { useReverified } from "../state/useReverified.ts"
import "./reverified.css"
import { useSource } from "../state/SourceContext.tsx"
import { useRemote } from "../state/useRemote.ts"
import { CopyButton } from "../ui/Copy.tsx"

/** Shows the command that re-scores a run's rollouts and opens the result here. */
const Command = ({ run }: { readonly run: string }) => {
  const { hasService } = useSource()
  const { value: names } = useRemote(`environment names ${run}`, (source, signal) =>
    source.environmentNames(run, signal)
  )
  const [name = "NAME", ...others] = names ?? []
  // The service numbers environments of the same name.
  const environment = others.length > 0 ? "NAME" : hasService ? name.replace(/_\d+$/, "") : name
  const command = `npx @atropos/cli reverify groups.jsonl --env ${environment} --page again.html --open`
  return (
    <>
      <p>
        {hasService
          ? "The viewer cannot run the environment. Re-score groups saved to a file (data_path_to_save_groups, or process) where its program is installed:"
          : "The viewer cannot run the environment. Re-score the file where its program is installed:"}
      </p>
      <pre>
        <code>{command}</code>
      </pre>
      <CopyButton label="Copy command" text={() => command} />
      <p>Nothing is sampled. The page it writes shows old and new scores, largest changes first.</p>
    </>
  )
}

const max = 300

export const ReverifiedPage = () => {
  const run = useRun()
  useTitle("Re-scored", run)
  const { error, reload, value, ...remote } = useReverified(run)
  if (error !== null) return <Failure error={error} onRetry={reload} />
  if (remote.isLoading && value === null) return <Loading what="scores" />
  if (value === null) {
    return (
      <Empty title="Not re-scored yet">
        <Command run={run} />
      </Empty>
    )
  }
  return <Scores run={run} reverified={value} />
}

const Scores = ({ reverified, run }: { readonly run: string; readonly reverified: Wire.Reverified }) => {
  const search = useSearch()
  const setSearch = useSetSearch()
  const filterName = search.get("show")
  const filter = Changes.filters.find((one) => one === filterName) ?? "changed"
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
        <h1>Re-scored</h1>
        <p className="muted" role="status">
          {Changes.describe(reverified)}
        </p>
      </div>
      <div className="segmented" role="group" aria-label="Show">
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
        <p className="muted">{filter === "changed" ? "No scores changed." : "None."}</p>
      ) : (
        <DataTable
          key={filter}
          caption={`re-scored rollouts of ${run}`}
          columns={columns}
          rows={rows.slice(0, max)}
          rowKey={({ group }) => group}
        />
      )}
      {rows.length > max && (
        <p className="muted">{`Showing the ${count(max)} largest changes of ${count(rows.length)}; the command prints all (--show, --json).`}</p>
      )}
    </div>
  )
}
