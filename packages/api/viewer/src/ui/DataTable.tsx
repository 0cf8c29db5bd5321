/** Renders a table sortable by its headers. On a phone each row is a block, with column titles next to the values. */
import {
  type Cell,
  createColumnHelper,
  createSortedRowModel,
  FlexRender,
  type Header,
  rowSortingFeature,
  type SortingState,
  sortFn_alphanumeric,
  sortFn_basic,
  tableFeatures,
  useTable
} from "@tanstack/react-table"
import { SaveMenu } from "../save/SaveMenu.tsx"
import { type ReactNode, useMemo, useState } from "react"
import "./table.css"

export interface Column<Row> {
  readonly id: string
  readonly title: string
  /** The sort key, also shown without `cell`; null: unknown, sorted last. */
  readonly value: (row: Row) => string | number | null
  readonly cell?: (row: Row) => ReactNode
  readonly isNumber?: boolean
}

const features = tableFeatures({
  rowSortingFeature,
  sortedRowModel: createSortedRowModel(),
  sortFns: { alphanumeric: sortFn_alphanumeric, basic: sortFn_basic }
})

export interface DataTableProps<Row> {
  /** The table's name for screen readers. */
  readonly caption: string
  readonly columns: ReadonlyArray<Column<Row>>
  readonly rows: ReadonlyArray<Row>
  readonly rowKey: (row: Row) => string
  readonly sortedBy?: { readonly id: string; readonly isDescending: boolean }
}

export const DataTable = <Row extends object>({ caption, columns, rowKey, rows, sortedBy }: DataTableProps<Row>) => {
  const [sorting, setSorting] = useState<SortingState>(
    sortedBy === undefined ? [] : [{ id: sortedBy.id, desc: sortedBy.isDescending }]
  )
  const definitions = useMemo(() => {
    const helper = createColumnHelper<typeof features, Row>()
    return helper.columns(
      columns.map(({ cell, id, isNumber, title, value }) =>
        helper.accessor((row) => value(row) ?? undefined, {
          id,
          header: title,
          sortFn: isNumber === true ? "basic" : "alphanumeric",
          sortUndefined: "last",
          sortDescFirst: isNumber === true,
          cell: ({ getValue, row }) => (cell === undefined ? (getValue() ?? "–") : cell(row.original))
        })
      )
    )
  }, [columns])
  const data = useMemo(() => [...rows], [rows])
  const table = useTable({
    features,
    columns: definitions,
    data,
    state: { sorting },
    onSortingChange: setSorting,
    getRowId: rowKey
  })
  const numbers = new Set(columns.flatMap(({ id, isNumber }) => (isNumber === true ? [id] : [])))
  const titles = new Map(columns.map(({ id, title }) => [id, title]))
  const classOf = (id: string) => (numbers.has(id) ? "number" : undefined)
  return (
    <div>
      <div className="table-scroll">
        <table className="data-table">
          <caption className="sr-only">{caption}</caption>
          <thead>
            {table.getHeaderGroups().map((group) => (
              <tr key={group.id}>
                {group.headers.map((header) => {
                  const order = header.column.getIsSorted()
                  return (
                    <th
                      key={header.id}
                      scope="col"
                      className={classOf(header.column.id)}
                      aria-sort={order === "asc" ? "ascending" : order === "desc" ? "descending" : undefined}
                    >
                      {sorter(header, order)}
                    </th>
                  )
                })}
              </tr>
            ))}
          </thead>
          <tbody>
            {table.getRowModel().rows.map((row) => (
              <tr key={row.id}>
                {row.getAllCells().map((cell, index) =>
                  index === 0 ? (
                    <th key={cell.id} scope="row">
                      {shownCell(cell)}
                    </th>
                  ) : (
                    <td key={cell.id} className={classOf(cell.column.id)} data-title={titles.get(cell.column.id)}>
                      {shownCell(cell)}
                    </td>
                  )
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > 0 && (
        <div className="table-foot">
          <SaveMenu
            name={caption}
            table={() => ({
              columns: columns.map(({ title }) => title),
              rows: table.getRowModel().rows.map(({ original }) => columns.map(({ value }) => value(original)))
            })}
          />
        </div>
      )}
    </div>
  )
}

const shownCell = <Row extends object>(cell: Cell<typeof features, Row>) => <FlexRender cell={cell} />

const arrows = { asc: "↑", desc: "↓" }

const sorter = <Row extends object>(header: Header<typeof features, Row>, order: "asc" | "desc" | false) => (
  <button type="button" className="quiet small" onClick={header.column.getToggleSortingHandler()}>
    <FlexRender header={header} />
    <span aria-hidden="true">{order === false ? "" : arrows[order]}</span>
  </button>
)
