/** Shows the legend of a chart: curves by colour and dashes, with their values. */
import type * as Curves from "./Curves.ts"
import { colorOf, dashOf, type PlotStyle } from "./PlotStyle.ts"

interface LegendProps {
  readonly entries: ReadonlyArray<Curves.Entry>
  /** By `idOf`. */
  readonly hidden: ReadonlySet<string>
  /** The unit of hiding: a curve, or all of a name. */
  readonly idOf: (entry: Curves.Entry) => string
  readonly onToggle: (id: string) => void
  readonly style: PlotStyle
  /** Receives the element for a curve's value, if the legend shows values. */
  readonly valueRef?: (key: string) => (element: HTMLElement | null) => void
}

export const Legend = ({ entries, hidden, idOf, onToggle, style, valueRef }: LegendProps) => (
  <ul className="chart-legend" aria-label="Curves">
    {entries.map((entry) => (
      <li key={entry.key}>
        <button
          type="button"
          className="quiet small"
          aria-pressed={!hidden.has(idOf(entry))}
          onClick={() => onToggle(idOf(entry))}
        >
          <Swatch color={colorOf(entry, style.series)} dash={dashOf(entry)} />
          <span className="chart-name">{entry.label}</span>
          {valueRef !== undefined && <span className="number" ref={valueRef(entry.key)} />}
        </button>
      </li>
    ))}
  </ul>
)

export const Swatch = ({ color, dash = [] }: { readonly color: string; readonly dash?: ReadonlyArray<number> }) => (
  <svg className="line-swatch" viewBox="0 0 20 8" width="20" height="8" aria-hidden="true">
    <path d="M1 4H19" stroke={color} strokeWidth="3" strokeDasharray={dash.join(" ")} />
  </svg>
)
