/** Shows presets, the order of the list, and the rarer filters. */
import * as Filter from "../../query/Filter.ts"
import * as Presets from "../../query/Presets.ts"
import { Range } from "./Range.tsx"
import { nameOf, sortsOf } from "./SortNames.ts"

interface ListOrderProps {
  readonly filter: Filter.Filter
  /** True if the groups have neither steps nor states. */
  readonly isPlain: boolean
  readonly components: ReadonlyArray<string>
  readonly onChange: (filter: Filter.Filter) => void
}

export const ListOrder = ({ components, filter, isPlain, onChange }: ListOrderProps) => {
  const change = (part: Partial<Filter.Filter>) => onChange({ ...filter, ...part })
  const named =
    filter.component === null || components.includes(filter.component) ? components : [...components, filter.component]
  return (
    <div className="list-order" role="group" aria-label="Order and presets">
      <div className="presets" role="group" aria-label="Presets">
        {Presets.presets.map((preset) => (
          <button
            key={preset.name}
            type="button"
            className="small"
            title={preset.help}
            aria-pressed={Presets.isSet(filter, preset)}
            onClick={() => onChange(Presets.toggled(filter, preset))}
          >
            {preset.name}
          </button>
        ))}
      </div>
      <label>
        <span>Order</span>
        <select
          value={filter.sort === "component" ? `component:${filter.component ?? ""}` : (filter.sort ?? "")}
          onChange={({ target: { value } }) => change(orderOf(value))}
        >
          <option value="">newest first</option>
          {sortsOf(isPlain).map((sort) => (
            <option key={sort} value={sort}>
              {nameOf(sort, null)}
            </option>
          ))}
          {named.map((component) => (
            <option key={component} value={`component:${component}`}>
              component {component}
            </option>
          ))}
        </select>
      </label>
      {filter.sort !== null && (
        <button
          type="button"
          className="small"
          aria-label={
            filter.isAscending ? "Lowest first; switch to highest first" : "Highest first; switch to lowest first"
          }
          onClick={() => change({ isAscending: !filter.isAscending })}
        >
          {filter.isAscending ? "lowest first" : "highest first"}
        </button>
      )}
      {filter.component !== null && (
        <Range
          name={`Component ${filter.component}`}
          from={filter.componentFrom}
          to={filter.componentTo}
          onChange={(componentFrom, componentTo) => change({ componentFrom, componentTo })}
        />
      )}
      {!isPlain && (
        <label>
          <span>State</span>
          <select
            value={filter.state ?? ""}
            onChange={({ target }) => change({ state: Filter.states.find((state) => state === target.value) ?? null })}
          >
            <option value="">all</option>
            {Filter.states.map((state) => (
              <option key={state}>{state}</option>
            ))}
          </select>
        </label>
      )}
      <label>
        <input
          type="checkbox"
          checked={filter.isTruncated}
          onChange={({ target }) => change({ isTruncated: target.checked })}
        />
        truncated
      </label>
      <label>
        <input
          type="checkbox"
          checked={filter.hasToolErrors}
          onChange={({ target }) => change({ hasToolErrors: target.checked })}
        />
        tool errors
      </label>
    </div>
  )
}

const orderOf = (value: string): Partial<Filter.Filter> =>
  value.startsWith("component:")
    ? { sort: "component", component: value.slice("component:".length), isAscending: false }
    : {
        sort: sortsOf(false).find((sort) => sort === value) ?? null,
        component: null,
        componentFrom: null,
        componentTo: null,
        isAscending: false
      }
