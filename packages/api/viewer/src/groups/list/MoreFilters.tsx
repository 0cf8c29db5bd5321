/** Shows the rarer filters, collapsed unless one of them is set. */
import { useState } from "react"
import * as Filter from "../../query/Filter.ts"
import { Range } from "./Range.tsx"
import { useTyped } from "./useTyped.ts"

interface MoreFiltersProps {
  readonly filter: Filter.Filter
  /** True if the groups have no steps. */
  readonly isPlain: boolean
  readonly onChange: (part: Partial<Filter.Filter>) => void
}

const none = Filter.none

const isInForce = (filter: Filter.Filter): boolean =>
  Filter.active({
    ...none,
    item: filter.item,
    lengthFrom: filter.lengthFrom,
    lengthTo: filter.lengthTo,
    stalenessFrom: filter.stalenessFrom,
    stalenessTo: filter.stalenessTo,
    disagreementFrom: filter.disagreementFrom,
    disagreementTo: filter.disagreementTo,
    deviationFrom: filter.deviationFrom,
    deviationTo: filter.deviationTo
  }) > 0

export const MoreFilters = ({ filter, isPlain, onChange }: MoreFiltersProps) => {
  const [isWanted, setIsWanted] = useState(false)
  const isForced = isInForce(filter)
  return (
    <>
      {!isForced && (
        <button type="button" className="small" aria-expanded={isWanted} onClick={() => setIsWanted(!isWanted)}>
          {isWanted ? "fewer filters" : "more filters"}
        </button>
      )}
      {(isWanted || isForced) && (
        <div className="filters-rare">
          <Range
            name="Length"
            from={filter.lengthFrom}
            to={filter.lengthTo}
            onChange={(lengthFrom, lengthTo) => onChange({ lengthFrom, lengthTo })}
          />
          <Range
            name="Score range"
            from={filter.disagreementFrom}
            to={filter.disagreementTo}
            onChange={(disagreementFrom, disagreementTo) => onChange({ disagreementFrom, disagreementTo })}
          />
          <Range
            name="Score std dev"
            from={filter.deviationFrom}
            to={filter.deviationTo}
            onChange={(deviationFrom, deviationTo) => onChange({ deviationFrom, deviationTo })}
          />
          {!isPlain && (
            <Range
              name="Staleness"
              from={filter.stalenessFrom}
              to={filter.stalenessTo}
              onChange={(stalenessFrom, stalenessTo) => onChange({ stalenessFrom, stalenessTo })}
            />
          )}
          <ItemField item={filter.item ?? ""} onChange={(item) => onChange({ item: item.trim() || null })} />
        </div>
      )}
    </>
  )
}

const ItemField = ({ item, onChange }: { readonly item: string; readonly onChange: (item: string) => void }) => {
  const [typed, setTyped] = useTyped(item, onChange)
  return (
    <label className="filter-item">
      <span>Item</span>
      <input
        type="search"
        autoComplete="off"
        spellCheck={false}
        maxLength={Filter.maxItemLength}
        placeholder="item ID"
        value={typed}
        onChange={({ target }) => setTyped(target.value)}
      />
    </label>
  )
}
