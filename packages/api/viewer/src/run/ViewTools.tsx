/** Edits the view of the curves: axis, smoothing, log scale, zoom. */
import { type FormEvent, useState } from "react"
import { greatestSmoothing, type PageView } from "../chart/PageView.ts"

interface ViewToolsProps {
  readonly view: PageView
  readonly onChange: (changes: Partial<PageView>) => void
}

export const ViewTools = ({ onChange, view }: ViewToolsProps) => (
  <div className="view-tools" role="group" aria-label="View of the charts">
    <div className="joined" role="group" aria-label="Horizontal axis">
      <button type="button" aria-pressed={view.axis === "step"} onClick={() => onChange({ axis: "step" })}>
        Step
      </button>
      <button type="button" aria-pressed={view.axis === "time"} onClick={() => onChange({ axis: "time" })}>
        Time
      </button>
    </div>
    <label className="smoothing">
      Smoothing
      <input
        type="range"
        min={0}
        max={greatestSmoothing}
        step={0.01}
        value={view.smoothing}
        onChange={(event) => onChange({ smoothing: Number(event.target.value) })}
      />
      <output className="number">{view.smoothing.toFixed(2)}</output>
    </label>
    <div className="joined" role="group" aria-label="Logarithmic axes">
      <button type="button" aria-pressed={view.isLogY} onClick={() => onChange({ isLogY: !view.isLogY })}>
        Log y
      </button>
      <button type="button" aria-pressed={view.isLogX} onClick={() => onChange({ isLogX: !view.isLogX })}>
        Log x
      </button>
    </div>
    <Zoom view={view} onChange={onChange} />
  </div>
)

/** The zoomed range in numbers, an alternative to dragging for keyboard and touch. */
const Zoom = ({ onChange, view: { axis, range } }: ViewToolsProps) => {
  const [draft, setDraft] = useState<{ readonly from?: string; readonly to?: string }>({})
  const unit = axis === "step" ? "step" : "second"
  const text = { from: draft.from ?? format(range?.[0]), to: draft.to ?? format(range?.[1]) }
  const apply = (event: FormEvent) => {
    event.preventDefault()
    const [low, high] = [Number(text.from), Number(text.to)]
    if (text.from.trim() === "" || text.to.trim() === "" || !(low < high)) return
    onChange({ range: [low, high] })
    setDraft({})
  }
  const field = (end: "from" | "to") => (
    <input
      type="text"
      inputMode="decimal"
      aria-label={`Zoom ${end} ${unit}`}
      placeholder={end === "from" ? "from" : "to"}
      value={text[end]}
      onChange={({ target: { value } }) => setDraft({ ...draft, [end]: value })}
    />
  )
  return (
    <form className="zoom" onSubmit={apply}>
      <span>{axis === "step" ? "Steps" : "Seconds"}</span>
      {field("from")}
      <span aria-hidden="true">–</span>
      {field("to")}
      <button type="submit" className="sr-only">
        Zoom
      </button>
      {range !== null && (
        <button
          type="button"
          onClick={() => {
            onChange({ range: null })
            setDraft({})
          }}
        >
          Reset zoom
        </button>
      )}
    </form>
  )
}

const format = (value: number | undefined): string => (value === undefined ? "" : String(Number(value.toPrecision(5))))
