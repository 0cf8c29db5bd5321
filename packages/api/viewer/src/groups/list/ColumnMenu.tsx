/** Shows and hides columns of the group list. */
import { nameOf } from "./Columns.tsx"
import type { Columns } from "./useColumns.ts"

export const ColumnMenu = ({ choose, isChosen, offered, shown }: Columns) => (
  <details className="column-menu">
    <summary>Columns</summary>
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
  </details>
)
