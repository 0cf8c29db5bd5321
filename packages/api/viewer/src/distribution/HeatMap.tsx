/**
 * Draws a distribution over steps: the higher the share of a step's rollouts with a value, the stronger its cell. Cells
 * open their groups.
 */
import { type KeyboardEvent, type MouseEvent, useMemo, useState } from "react"
import type * as Wire from "../source/Wire.ts"
import * as Format from "../ui/Format.ts"
import * as Cells from "./Cells.ts"

interface HeatMapProps {
  readonly title: string
  readonly measure: Cells.Measure
  readonly distribution: Wire.Distribution
  readonly onOpen: (cell: Cells.Cell) => void
}

export const HeatMap = ({ distribution, measure, onOpen, title }: HeatMapProps) => {
  const { bins, columns, high, low } = distribution
  const [selected, setSelected] = useState<Cells.Cell | null>(null)
  const first = columns[0]!.from
  const last = columns.at(-1)!.to
  const width = last - first + 1
  // A cell that no longer exists after new steps is deselected.
  const cell = selected !== null && selected.column < columns.length ? selected : null
  const cells = useMemo(() => {
    const max = Math.max(Number.MIN_VALUE, Cells.largestShare(distribution))
    return columns.flatMap(({ counts, from, to }, column) =>
      counts.flatMap((count, bin) =>
        count === 0
          ? []
          : [
              <rect
                key={`${column} ${bin}`}
                x={from - first}
                y={bins - 1 - bin}
                width={to - from + 1}
                height={1}
                fillOpacity={0.12 + (0.88 * Cells.shareOf(distribution, { column, bin })) / max}
              />
            ]
      )
    )
  }, [bins, columns, distribution, first])

  const cellAt = ({ clientX, clientY, currentTarget }: MouseEvent): Cells.Cell => {
    const box = currentTarget.getBoundingClientRect()
    const step = first + ((clientX - box.left) / box.width) * width
    const found = columns.findLastIndex(({ from }) => from <= step)
    const bin = bins - 1 - Math.floor(((clientY - box.top) / box.height) * bins)
    return { column: Math.max(0, found), bin: Math.max(0, Math.min(bins - 1, bin)) }
  }
  const openGroups = (of: Cells.Cell) => {
    if (!Cells.isEmpty(distribution, of)) onOpen(of)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && cell !== null) openGroups(cell)
    else {
      const start = cell ?? { column: columns.length - 1, bin: bins - 1 }
      const to = cell === null && event.key.startsWith("Arrow") ? start : Cells.moved(distribution, start, event.key)
      if (to === undefined) return
      setSelected(to)
    }
    event.preventDefault()
    event.stopPropagation()
  }
  const selectedColumn = cell === null ? null : columns[cell.column]!
  return (
    <>
      <div className="heat">
        <span className="heat-high number">{Format.number(high, 3)}</span>
        <span className="heat-low number">{Format.number(low, 3)}</span>
        <div
          className="heat-plot"
          role="slider"
          tabIndex={0}
          aria-label={`${title}, distribution over steps`}
          aria-valuenow={selectedColumn === null ? last : selectedColumn.from}
          aria-valuemin={first}
          aria-valuemax={last}
          aria-valuetext={
            cell === null ? Cells.stepsOf({ from: first, to: last }) : Cells.words(distribution, measure, cell)
          }
          title="Arrows move from cell to cell; Enter, or a click, opens the groups"
          onKeyDown={onKeyDown}
          onMouseMove={(event) => setSelected(cellAt(event))}
          onMouseLeave={() => setSelected(null)}
          onClick={(event) => openGroups(cellAt(event))}
        >
          <svg viewBox={`0 0 ${width} ${bins}`} preserveAspectRatio="none" aria-hidden="true">
            {cells}
            {cell !== null && selectedColumn !== null && (
              <rect
                className="heat-chosen"
                data-no-picture=""
                x={selectedColumn.from - first}
                y={bins - 1 - cell.bin}
                width={selectedColumn.to - selectedColumn.from + 1}
                height={1}
              />
            )}
          </svg>
        </div>
        <span className="heat-first number">{Format.count(first)}</span>
        <span className="heat-last number">{Format.count(last)}</span>
      </div>
      <p className="heat-words" data-no-picture="">
        {cell === null ? "" : Cells.words(distribution, measure, cell)}
      </p>
    </>
  )
}
