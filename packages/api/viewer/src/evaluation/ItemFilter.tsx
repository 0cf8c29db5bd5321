/** Filters the list of items. */
import type { RefObject } from "react"
import { SaveMenu } from "../save/SaveMenu.tsx"
import { count } from "../ui/Format.ts"
import { Icon } from "../ui/Icon.tsx"
import * as EvaluationTables from "./EvaluationTables.ts"
import * as Items from "./Items.ts"

interface Props {
  /** Name of the saved file. */
  readonly name: string
  readonly filter: Items.Filter
  readonly isComparison: boolean
  readonly items: ReadonlyArray<Items.Item>
  readonly matching: ReadonlyArray<Items.Item>
  readonly searchField: RefObject<HTMLInputElement | null>
  readonly onChange: (changes: { readonly [name: string]: string | null }) => void
}

export const ItemFilter = ({ filter, isComparison, items, matching, name, onChange, searchField }: Props) => {
  const categories = [...new Set(items.flatMap(({ category }) => category ?? []))].sort()
  return (
    <div className="item-filter">
      <div className="presets" role="group" aria-label="Show">
        {(isComparison ? Items.courses : Items.shows).map(([show, label]) => (
          <button
            key={show}
            type="button"
            className="small"
            aria-pressed={filter.show === show}
            onClick={() => onChange({ show: show === "all" ? null : show })}
          >
            {label}
          </button>
        ))}
      </div>
      {categories.length > 1 && (
        <label>
          <span className="sr-only">Category</span>
          <select value={filter.category} onChange={({ target }) => onChange({ category: target.value })}>
            <option value="">all categories</option>
            {categories.map((category) => (
              <option key={category} value={category}>
                {category}
              </option>
            ))}
          </select>
        </label>
      )}
      <label className="search">
        <span className="sr-only">Search items</span>
        <Icon name="search" />
        <input
          ref={searchField}
          type="search"
          placeholder="Question or answer"
          value={filter.text}
          onChange={({ target }) => onChange({ text: target.value })}
        />
      </label>
      <span className="muted number" role="status">
        {matching.length === items.length ? count(items.length) : `${count(matching.length)} of ${count(items.length)}`}
      </span>
      {matching.length > 0 && <SaveMenu name={name} table={() => EvaluationTables.ofItems(matching, isComparison)} />}
    </div>
  )
}
