/** Lists the groups of a run, with filters and search. */
import { useEffect, useMemo, useRef } from "react"
import { format } from "../route/Location.ts"
import { useSearch, useSetSearch } from "../route/useHash.ts"
import { SaveMenu } from "../save/SaveMenu.tsx"
import { useRemote } from "../state/useRemote.ts"
import { useSource } from "../state/SourceContext.tsx"
import { useRun } from "../state/useRun.tsx"
import { count, plural } from "../ui/Format.ts"
import { Empty, Failure, Loading } from "../ui/Note.tsx"
import { useTitle } from "../ui/useTitle.ts"
import { useShortcuts } from "../ui/useShortcuts.tsx"
import * as Filter from "../query/Filter.ts"
import { ColumnMenu } from "./list/ColumnMenu.tsx"
import { FilterForm } from "./list/FilterForm.tsx"
import { GroupList } from "./list/GroupList.tsx"
import { ItemHistory } from "./list/ItemHistory.tsx"
import { ListOrder } from "./list/ListOrder.tsx"
import * as ListTable from "./list/ListTable.ts"
import * as Remembered from "./list/Remembered.ts"
import { columnOf } from "./list/SortNames.ts"
import { type Columns, useColumns } from "./list/useColumns.ts"
import { useRollouts } from "./list/useRollouts.ts"

export const GroupsPage = () => {
  const run = useRun()
  const search = useSearch()
  const setSearch = useSetSearch()
  const source = useSource()
  const { hasService } = source
  const filter = useMemo(() => {
    const criteria = Filter.fromSearch(search)
    // A file's name belongs to a single run.
    return hasService ? criteria : { ...criteria, isNewestRun: false }
  }, [search, hasService])
  const query = useMemo(() => Filter.toQuery(filter), [filter])
  const rollouts = useRollouts(run, query)
  const names = useRemote(run, (source, signal) => source.environmentNames(run, signal))
  const environments = useMemo(
    () =>
      [...new Set([...(names.value ?? []), ...rollouts.rows.flatMap(({ environment }) => environment ?? [])])].sort(),
    [names.value, rollouts.rows]
  )
  const components = useMemo(
    () => [...new Set(rollouts.rows.flatMap(({ figures }) => Object.keys(figures?.components ?? {})))].sort(),
    [rollouts.rows]
  )
  // Groups from files have neither.
  const isPlain =
    !hasService &&
    Filter.active({ ...filter, text: "", scoreFrom: null, scoreTo: null }) === 0 &&
    rollouts.rows.every(({ environment, step }) => environment === null && step === null)
  const columns = useColumns(rollouts.rows, isPlain, columnOf(filter.sort, filter.component) !== null)
  useTitle("Groups", run)
  const searchField = useRef<HTMLInputElement>(null)
  const change = (filter: Filter.Filter) => setSearch({ run, ...Filter.toSearch(filter) }, { replace: true })

  useEffect(() => Remembered.keepAddress(format("/groups", { run, ...Filter.toSearch(filter) })), [run, filter])
  useShortcuts("Groups", [
    { keys: ["/"], label: "search", run: () => searchField.current?.focus() },
    { keys: ["r"], label: "load newer groups", run: rollouts.reload }
  ])

  return (
    <div className="groups">
      <div className="groups-top">
        <h1>Groups</h1>
        <p className="groups-count" role="status">
          {rollouts.total !== null && `${count(rollouts.total)}${Filter.active(filter) > 0 ? " match" : ""}`}
          {rollouts.unindexed > 0 &&
            Filter.needsReading(query) &&
            ` (${plural(rollouts.unindexed, "group")} not indexed yet)`}
        </p>
        {rollouts.rows.length > 0 && (
          <SaveMenu name={`groups of ${run}`} table={() => ListTable.load(source, run, query)} />
        )}
        <ColumnMenu {...columns} />
        {rollouts.fresh > 0 && (
          <button type="button" className="small fresh" onClick={rollouts.reload}>
            {`${rollouts.fresh}${rollouts.freshIsMore ? " or more" : ""} new`}
          </button>
        )}
        <FilterForm
          filter={filter}
          isPlain={isPlain}
          environments={environments}
          searchField={searchField}
          onChange={change}
        />
        <ListOrder filter={filter} isPlain={isPlain} components={components} onChange={change} />
        {filter.item !== null && <ItemHistory rows={rollouts.rows} total={rollouts.total} />}
      </div>
      <List
        rollouts={rollouts}
        filter={filter}
        run={run}
        columns={columns.shown}
        hasService={hasService}
        onClear={() => change(Filter.none)}
      />
    </div>
  )
}

const List = ({
  columns,
  filter,
  hasService,
  onClear,
  rollouts,
  run
}: {
  readonly rollouts: ReturnType<typeof useRollouts>
  readonly filter: Filter.Filter
  readonly run: string
  readonly columns: Columns["shown"]
  readonly hasService: boolean
  readonly onClear: () => void
}) => {
  const { error, isLoading, isStale, rows, total, want } = rollouts
  if (error !== null) return <Failure error={error} onRetry={rollouts.reload} />
  if (isLoading) return <Loading what="groups" />
  if (rows.length === 0 && !isStale) {
    return Filter.active(filter) > 0 ? (
      <Empty title="No matching groups">
        <p>
          {Filter.problemOf(filter) ??
            "Words match from their beginning; use quotes for phrases. Scores are group means; steps are those of the batch."}
        </p>
        <button type="button" onClick={onClear}>
          Clear filters
        </button>
      </Empty>
    ) : (
      <Empty title="No groups yet">
        <p>
          {hasService
            ? "Groups appear here as environments submit them. Environments wait until a trainer requests a batch."
            : "The file contains no groups. New ones appear here as it grows."}
        </p>
      </Empty>
    )
  }
  return (
    <GroupList
      run={run}
      listKey={JSON.stringify([run, filter, rollouts.round])}
      rows={rows}
      total={total ?? rows.length}
      isStale={isStale}
      shown={{ columns, isReading: rollouts.unindexed > 0, sort: filter.sort, component: filter.component }}
      onWant={want}
    />
  )
}
