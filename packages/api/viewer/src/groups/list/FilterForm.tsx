/** Shows the filters of the group list, which apply immediately. */
import { type RefObject, useState } from "react"
import { Icon } from "../../ui/Icon.tsx"
import * as Filter from "../../query/Filter.ts"
import { MoreFilters } from "./MoreFilters.tsx"
import { Range } from "./Range.tsx"
import { useTyped } from "./useTyped.ts"

interface Props {
  readonly filter: Filter.Filter
  readonly environments: ReadonlyArray<string>
  /** True if the groups have neither environments nor steps. */
  readonly isPlain: boolean
  readonly searchField: RefObject<HTMLInputElement | null>
  readonly onChange: (filter: Filter.Filter) => void
}

export const FilterForm = ({ environments, filter, isPlain, onChange, searchField }: Props) => {
  const [isOpen, setIsOpen] = useState(false)
  const count = Filter.active({ ...filter, text: "" })
  const change = (part: Partial<Filter.Filter>) => onChange({ ...filter, ...part })
  const problem = Filter.problemOf(filter)
  const all =
    filter.environment === null || environments.includes(filter.environment)
      ? environments
      : [...environments, filter.environment]
  return (
    <form className="filters" role="search" aria-label="Groups" onSubmit={(event) => event.preventDefault()}>
      <SearchField field={searchField} text={filter.text} onChange={(text) => change({ text })} />
      <button type="button" className="filters-toggle" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
        <Icon name="filter" />
        Filters{count > 0 && <span className="badge">{count}</span>}
      </button>
      <div className={isOpen ? "filters-more is-open" : "filters-more"}>
        {!isPlain && (
          <>
            <label>
              <span>Environment</span>
              <select
                value={filter.environment ?? ""}
                onChange={({ target }) => change({ environment: target.value || null })}
              >
                <option value="">all</option>
                {all.map((name) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            </label>
            <Range
              name="Step"
              from={filter.stepFrom}
              to={filter.stepTo}
              onChange={(stepFrom, stepTo) => change({ stepFrom, stepTo })}
            />
          </>
        )}
        <Range
          name="Mean score"
          from={filter.scoreFrom}
          to={filter.scoreTo}
          onChange={(scoreFrom, scoreTo) => change({ scoreFrom, scoreTo })}
        />
        {filter.isNewestRun && filter.value === null && (
          <Chip
            text="newest run only"
            title="Include earlier runs of this name"
            onRemove={() => change({ isNewestRun: false })}
          />
        )}
        {filter.value !== null && (
          <Chip
            text={`with ${Filter.valueWords(filter)}`}
            title="Include groups without such a rollout"
            onRemove={() => change({ value: null, valueFrom: null, valueBelow: null, valueTo: null })}
          />
        )}
        {Filter.active(filter) > 0 && (
          <button type="button" className="quiet" onClick={() => onChange(Filter.none)}>
            <Icon name="close" />
            Clear
          </button>
        )}
        <MoreFilters filter={filter} isPlain={isPlain} onChange={change} />
      </div>
      {problem !== null && (
        <p className="filters-problem" role="alert">
          {problem}
        </p>
      )}
    </form>
  )
}

/** A filter set only by a link to the list; a click removes it. */
const Chip = ({
  onRemove,
  text,
  title
}: {
  readonly text: string
  readonly title: string
  readonly onRemove: () => void
}) => (
  <button type="button" className="small" title={title} onClick={onRemove}>
    {text}
    <Icon name="close" />
  </button>
)

const help =
  "Searches messages. Filters: score, best, range, std, length, step, staleness and component.NAME with <, <=, >, >= or =; env:, item:, state:, is:truncated, is:newly_solved, has:tool_errors"

const SearchField = ({
  field,
  onChange,
  text
}: {
  readonly text: string
  readonly field: RefObject<HTMLInputElement | null>
  readonly onChange: (text: string) => void
}) => {
  const [typed, setTyped] = useTyped(text, onChange)
  return (
    <label className="search">
      <span className="sr-only">Search in messages</span>
      <Icon name="search" />
      <input
        ref={field}
        type="search"
        value={typed}
        maxLength={Filter.maxTextLength}
        placeholder="Words, “a phrase”, score<0.5, env:math"
        title={help}
        aria-keyshortcuts="/"
        onChange={({ target }) => setTyped(target.value)}
        onKeyDown={({ key, currentTarget }) => key === "Escape" && currentTarget.blur()}
      />
    </label>
  )
}
