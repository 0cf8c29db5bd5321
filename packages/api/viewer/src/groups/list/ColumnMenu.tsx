/** Shows and hides columns of the group list. */
import { useState } from "react"
import { nameOf } from "./Columns.tsx"
import type { Columns } from "./useColumns.ts"

export const ColumnMenu = (columns: Columns) => {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <details className="column-menu" open={isOpen} onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>Columns</summary>
      {isOpen && <Choices {...columns} />}
    </details>
  )
}

const Choices = ({ choose, isChosen, offered, shown }: Columns) => (
  <div role="group" aria-label="Columns">
    {offered.map((column) => (
      <label key={column}>
        <input
          type="checkbox"
          checked={shown.has(column)}
          onChange={({ target }) => choose({ column, isShown: target.checked })}
        />
        {nameOf(column)}
      </label>
    ))}
    <button type="button" className="quiet small" disabled={!isChosen} onClick={() => choose(null)}>
      Only those that differ
    </button>
  </div>
)
