/** Renders the groups as a virtual table. One row at a time is in the tab order; j, k and the arrow keys move it. */
import { useTable } from "@tanstack/react-table"
import { useVirtualizer } from "@tanstack/react-virtual"
import { createContext, type CSSProperties, memo, useContext, useEffect, useMemo, useRef, useState } from "react"
import { Link, useLocation } from "wouter"
import { groupPath } from "../../route/Location.ts"
import type * as Wire from "../../source/Wire.ts"
import { phone, useMedia } from "../../ui/useMedia.ts"
import { useShortcuts } from "../../ui/useShortcuts.tsx"
import { useNotes } from "../../notes/NotesContext.tsx"
import { plural } from "../../ui/Format.ts"
import { columns, features, type Shown, tracks } from "./Columns.tsx"
import * as Remembered from "./Remembered.ts"
import { scalesOf } from "./ScoreStrip.tsx"
import { nameOf } from "./SortNames.ts"

interface Props {
  readonly run: string
  /** Identifies the list: a different one starts at its top. */
  readonly listKey: string
  readonly rows: ReadonlyArray<Wire.RolloutRow>
  readonly total: number
  readonly isStale: boolean
  readonly shown: Shown
  readonly onWant: (rows: number) => void
}

/** Heights as in groups.css. */
const rowHeight = 42
const phoneRowHeight = 92

export const GroupList = ({ isStale, listKey, onWant, rows, run, shown, total }: Props) => {
  const [, navigate] = useLocation()
  const isPhone = useMedia(phone)
  const scroller = useRef<HTMLDivElement>(null)
  const [current, setCurrent] = useState(() => Remembered.placeOf(listKey))
  const takesFocus = useRef(current !== null)
  const height = isPhone ? phoneRowHeight : rowHeight
  const virtualizer = useVirtualizer({
    count: total,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    overscan: 8,
    initialOffset: () => Math.max(0, ((Remembered.placeOf(listKey) ?? 0) - 4) * height)
  })
  const items = virtualizer.getVirtualItems()

  useEffect(() => virtualizer.measure(), [virtualizer, height])

  const lastSeen = items.at(-1)?.index ?? 0
  useEffect(() => onWant(lastSeen + 60), [onWant, lastSeen])

  const shownKey = useRef(listKey)
  useEffect(() => {
    if (shownKey.current === listKey) return
    shownKey.current = listKey
    setCurrent(null)
    scroller.current?.scrollTo(0, 0)
  }, [listKey])

  const go = (to: number) => {
    const row = Math.min(Math.max(0, to), rows.length - 1)
    takesFocus.current = true
    setCurrent(row)
    Remembered.keepPlace(listKey, row)
    virtualizer.scrollToIndex(row)
  }
  useEffect(() => {
    if (!takesFocus.current) return
    const link = scroller.current?.querySelector<HTMLElement>(`[data-row="${current}"] a`)
    if (link === null || link === undefined) return
    takesFocus.current = false
    link.focus({ preventScroll: true })
  })

  const open = (row: number) => {
    const id = rows[row]?.id
    if (id === undefined) return
    Remembered.keepPlace(listKey, row)
    navigate(groupPath(run, id))
  }
  const at = current ?? -1
  const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / height) - 1)
  useShortcuts("Groups", [
    { keys: ["j", "ArrowDown"], label: "next group", run: () => go(at + 1) },
    { keys: ["k", "ArrowUp"], label: "previous group", run: () => go(at - 1) },
    { keys: ["PageDown"], label: "a page down", run: () => go(at + page) },
    { keys: ["PageUp"], label: "a page up", run: () => go(at - page) },
    { keys: ["Home"], label: "newest group", run: () => go(0) },
    { keys: ["Enter", "o"], label: "open the group", run: () => open(at) }
  ])

  const scaleOf = useMemo(() => scalesOf(rows), [rows])
  const { columns: visible, component, isReading, sort } = shown
  const ofTable = useMemo(
    () =>
      columns(scaleOf, { columns: visible, isReading, sort, component }, ({ id }, index) => (
        <RowLink run={run} id={id} index={index} />
      )),
    [scaleOf, visible, isReading, sort, component, run]
  )
  const table = useTable({ features, columns: ofTable, data: rows, getRowId: ({ id }) => id })
  const model = table.getRowModel().rows

  return (
    <div
      className={isStale ? "group-list is-stale" : "group-list"}
      style={{ "--columns": tracks(ofTable) } as CSSProperties}
      ref={scroller}
      tabIndex={0}
      role="region"
      aria-label="List"
    >
      <div
        role="table"
        aria-label={sort === null ? "Groups, newest first" : `Groups by ${nameOf(sort, component)}`}
        aria-rowcount={total + 1}
        aria-busy={isStale}
      >
        <div role="rowgroup" className="group-head">
          {table.getHeaderGroups().map((group) => (
            <div role="row" aria-rowindex={1} className="group-row" key={group.id}>
              {group.headers.map((header) => (
                <div role="columnheader" className={`cell-${header.column.id}`} key={header.id}>
                  <table.FlexRender header={header} />
                </div>
              ))}
            </div>
          ))}
        </div>
        <CurrentRow.Provider value={current ?? 0}>
          <div role="rowgroup" className="group-rows" style={{ height: virtualizer.getTotalSize() }}>
            {items.map(({ index, start }) => (
              <GroupRow
                key={index}
                index={index}
                start={start}
                isCurrent={index === current}
                row={model[index]}
                Cell={table.FlexRender}
                listKey={listKey}
              />
            ))}
          </div>
        </CurrentRow.Provider>
      </div>
    </div>
  )
}

type Table = ReturnType<typeof useTable<typeof features, Wire.RolloutRow>>

const GroupRow = memo(
  ({
    Cell,
    index,
    isCurrent,
    listKey,
    row,
    start
  }: {
    readonly index: number
    readonly start: number
    readonly isCurrent: boolean
    /** Undefined until its page has loaded. */
    readonly row: ReturnType<Table["getRowModel"]>["rows"][number] | undefined
    readonly Cell: Table["FlexRender"]
    readonly listKey: string
  }) => (
    <div
      role="row"
      aria-rowindex={index + 2}
      className={row === undefined ? "group-row is-absent" : "group-row"}
      data-row={index}
      data-current={isCurrent || undefined}
      style={{ transform: `translateY(${start}px)` }}
      onClickCapture={() => Remembered.keepPlace(listKey, index)}
    >
      {row === undefined ? (
        <div role="cell">Loading…</div>
      ) : (
        row.getAllCells().map((cell) => (
          <div role="cell" className={`cell-${cell.column.id}`} key={cell.id}>
            <Cell cell={cell} />
          </div>
        ))
      )}
    </div>
  )
)

const CurrentRow = createContext(0)

const RowLink = ({ id, index, run }: { readonly id: string; readonly index: number; readonly run: string }) => {
  const noted = useNotes().countOf(id)
  return (
    <>
      <Link className="row-link number" href={groupPath(run, id)} tabIndex={useContext(CurrentRow) === index ? 0 : -1}>
        {id}
      </Link>
      {noted > 0 && (
        <span className="row-noted" title={plural(noted, "note")}>
          <span aria-hidden="true"> ★</span>
          <span className="sr-only">{plural(noted, "note")}</span>
        </span>
      )}
    </>
  )
}
