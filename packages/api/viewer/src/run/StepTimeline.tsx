/**
 * Shows the time breakdown of the last steps: as text, and as lanes of the trainer, its weights and the environments.
 */
import { useMemo, useRef, useState } from "react"
import { drawElements } from "../save/ElementPicture.ts"
import { SaveMenu } from "../save/SaveMenu.tsx"
import type { RunMetrics } from "../metrics/RunMetrics.ts"
import { duration } from "../ui/Quantity.ts"
import { useRunStates } from "../metrics/useRunMetrics.ts"
import type * as Wire from "../source/Wire.ts"
import { useRemote } from "../state/useRemote.ts"
import { useWidth } from "../ui/useSize.ts"
import * as Timeline from "./Timeline.ts"
import "../timeline/timeline.css"
import type { Source } from "../source/Source.ts"
import { count } from "../ui/Format.ts"

/** Loads the groups whose arrival a timeline shows: those of its steps, newest first, up to a max number. */
interface Arrivals {
  /** Newest first. */
  readonly rows: ReadonlyArray<Wire.RolloutRow>
  readonly total: number
}

const pageRows = 1000
const maxRows = 10_000

export const loadArrivals = async (
  source: Source,
  run: string,
  stepFrom: number,
  signal: AbortSignal
): Promise<Arrivals> => {
  const rows: Array<Wire.RolloutRow> = []
  let total = 0
  let before: string | undefined
  do {
    const query = { newest_run: "true" as const, step_from: stepFrom, limit: pageRows }
    const page = await source.browse(run, { ...query, ...(before !== undefined && { before }) }, signal)
    rows.push(...page.rows)
    total = page.total ?? total
    before = page.next ?? undefined
  } while (before !== undefined && rows.length < maxRows)
  return { rows, total }
}

/** Describes the groups not shown; null if all are. */
export const missingArrivals = ({ rows, total }: Arrivals): string | null => {
  if (rows.length >= total) return null
  const first = rows.at(-1)?.step ?? null
  const where = first === null ? "" : `; environment lanes are empty before step ${count(first)}`
  return `Showing the newest ${count(rows.length)} of ${count(total)} groups${where}.`
}

const max = 20
const noRows: ReadonlyArray<Wire.RolloutRow> = []

export const StepTimeline = ({ metrics, run }: { readonly metrics: RunMetrics; readonly run: string }) => {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <details className="step-timeline" onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>
        <h2>Where does the step time go?</h2>
      </summary>
      {isOpen && <Lanes metrics={metrics} run={run} />}
    </details>
  )
}

const Lanes = ({ metrics, run }: { readonly metrics: RunMetrics; readonly run: string }) => {
  const drawn = useRef<HTMLDivElement>(null)
  const table = useRunStates(metrics).find(({ name }) => name === run)?.table
  const version = table?.version() ?? 0
  const last = table?.points("trainer", "train/step_time").steps.at(-1) ?? null
  const groups = useRemote(last === null ? null : `arrivals ${run} ${last}`, (source, signal) =>
    loadArrivals(source, run, Math.max(0, (last ?? 0) - max), signal)
  )
  const missing = groups.value === null ? null : missingArrivals(groups.value)
  const rows = groups.value?.rows ?? noRows
  const timeline = useMemo(
    () => (table === undefined ? null : Timeline.of(table, rows, max)),
    // The table object stays the same while rows are added.
    // oxlint-disable-next-line react/exhaustive-deps
    [table, version, rows]
  )
  const name = `steps of ${run}`
  if (timeline === null) return <p className="muted">No step times recorded.</p>
  return (
    <>
      <div className="timeline-picture" ref={drawn}>
        <p>{Timeline.summarize(timeline, duration)}</p>
        {missing !== null && <p className="muted">{missing}</p>}
        <Picture timeline={timeline} />
        <ul className="timeline-legend" aria-label="Step phases">
          {Timeline.parts.map(({ name }, part) => (
            <li key={name}>
              <i className={`part-${part}`} aria-hidden="true" /> {name}
            </li>
          ))}
          <li>
            <i className="part-weights" aria-hidden="true" /> new weights
          </li>
          <li>
            <i className="part-group" aria-hidden="true" /> group received
          </li>
        </ul>
      </div>
      <SaveMenu name={name} table={() => tableOf(timeline)} picture={() => drawElements(drawn.current, name)} />
    </>
  )
}

const tableOf = ({ steps }: Timeline.Timeline) => ({
  columns: ["step", "seconds", ...Timeline.parts.map(({ name }) => name)],
  rows: steps.map(({ from, spans, step, to }) => [
    step,
    (to - from) / 1000,
    ...Timeline.parts.map(
      (_, part) => spans.reduce((sum, span) => sum + (span.part === part ? span.to - span.from : 0), 0) / 1000
    )
  ])
})

const [minWidth, left, lane, bar, head] = [704, 130, 26, 16, 18]
/** Fits a step number of four digits. */
const labelRoom = 42

const Picture = ({ timeline }: { readonly timeline: Timeline.Timeline }) => {
  const [host, setHost] = useState<HTMLElement | null>(null)
  const width = Math.max(minWidth, useWidth(host))
  const { arrivals, from, steps, to } = timeline
  const x = (at: number) => left + ((at - from) / (to - from || 1)) * (width - left - 8)
  const lanes = ["trainer", "new weights", ...arrivals.map(({ environment }) => environment)]
  const height = head + lane * lanes.length + 22
  const y = (place: number) => head + lane * place
  const syncs = steps.flatMap(({ spans, step, to }) => {
    const last = spans.find(({ part }) => Timeline.parts[part]?.metric === "train/sync_time")
    return [{ step, at: last?.to ?? to }]
  })
  const labels = Timeline.labelled(
    steps.map(({ from }) => x(from)),
    labelRoom
  )
  return (
    <div ref={setHost} className="timeline-scroll" tabIndex={0} role="region" aria-label="Timeline of the last steps">
      <svg width={width} height={height} role="img" aria-label={Timeline.summarize(timeline, duration)}>
        {lanes.map((name, place) => (
          <text key={name} x={left - 8} y={y(place) + bar - 3} textAnchor="end">
            {name.length > 18 ? `${name.slice(0, 17)}…` : name}
          </text>
        ))}
        {steps.map(({ from, spans, step, to }, place) => (
          <g key={step}>
            <title>{`step ${step}: ${duration((to - from) / 1000)}`}</title>
            <path className="timeline-step" d={`M${x(from)} ${head - 4}V${height - 20}`} />
            {labels.has(place) && (
              <text x={x(from) + 3} y={head - 6}>
                {step}
              </text>
            )}
            {spans.map((span) => (
              <rect
                key={span.part}
                className={`part-${span.part}`}
                x={x(span.from)}
                y={y(0)}
                width={Math.max(0.5, x(span.to) - x(span.from))}
                height={bar}
              >
                <title>{`step ${step}, ${Timeline.parts[span.part]?.name}: ${duration((span.to - span.from) / 1000)}`}</title>
              </rect>
            ))}
          </g>
        ))}
        <path
          className="timeline-weights"
          d={syncs.map(({ at }) => `M${x(at)} ${y(1)}l5 ${bar / 2}l-5 ${bar / 2}l-5 ${-bar / 2}Z`).join("")}
        />
        {arrivals.map(({ environment, times }, place) => (
          <path
            key={environment}
            className="timeline-group"
            d={times.map((at) => `M${x(at).toFixed(1)} ${y(place + 2)}v${bar}`).join("")}
          />
        ))}
        <text x={left} y={height - 4}>
          0 s
        </text>
        <text x={width - 8} y={height - 4} textAnchor="end">
          {`time: ${duration((to - from) / 1000)}`}
        </text>
      </svg>
    </div>
  )
}
